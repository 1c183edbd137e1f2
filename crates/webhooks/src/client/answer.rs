//! The response of a receiver.

use std::time::Duration;

use http::{HeaderMap, Response, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

use super::Failure;

/// A response of any status. Redirects are not followed, and the body is not decompressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The `Retry-After` header, if it is valid text.
    pub retry_after: Option<String>,
    /// The `Content-Type` header, if it is valid text.
    pub content_type: Option<String>,
    /// The body, possibly truncated.
    pub body: Vec<u8>,
    /// The time from the start of the DNS lookup to the end of reading.
    pub elapsed: Duration,
}

/// How much of a body is read and kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum BodyLimit {
    /// The maximum size; a larger body is an error.
    Whole(usize),
    /// Keeps the first `kept` bytes and reads up to `read`, because a connection is reusable only after a full read.
    Beginning { kept: usize, read: usize },
}

impl Answer {
    /// Reads the response within the limit. The caller limits the time.
    pub(super) async fn read(response: Response<Incoming>, room: BodyLimit) -> Result<Self, Failure> {
        let (head, mut body) = response.into_parts();
        let (kept, read) = match room {
            BodyLimit::Whole(bytes) => (bytes, bytes),
            BodyLimit::Beginning { kept, read } => (kept, read),
        };
        let is_whole = matches!(room, BodyLimit::Whole(_));
        if is_whole && body.size_hint().lower() > u64::try_from(kept).unwrap_or(u64::MAX) {
            return Err(Failure::TooLarge);
        }
        let (mut beginning, mut so_far) = (Vec::new(), 0_usize);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Failure::of(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            so_far = so_far.saturating_add(data.len());
            let free = kept.saturating_sub(beginning.len());
            beginning.extend(data.iter().take(free));
            if so_far > read {
                if is_whole {
                    return Err(Failure::TooLarge);
                }
                // Dropping the body before its end makes hyper close the connection.
                break;
            }
        }
        Ok(Self {
            status: head.status.as_u16(),
            retry_after: text(&head.headers, &header::RETRY_AFTER),
            content_type: text(&head.headers, &header::CONTENT_TYPE),
            body: beginning,
            elapsed: Duration::ZERO,
        })
    }
}

fn text(headers: &HeaderMap, name: &header::HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(ToOwned::to_owned)
}
