//! What a receiver has answered.

use std::time::Duration;

use http::{HeaderMap, Response, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

use super::Failure;

/// An answer, whatever its status. Nothing in it is followed or unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status, as it came.
    pub status: u16,
    /// `Retry-After` as it came, if it can be read.
    pub retry_after: Option<String>,
    /// `Content-Type` as it came, if it can be read.
    pub content_type: Option<String>,
    /// The body, or as much of it as was to be kept.
    pub body: Vec<u8>,
    /// From the beginning of the look-up to the end of what was read.
    pub elapsed: Duration,
}

/// How much of a body is kept, and read.
#[derive(Debug, Clone, Copy)]
pub(super) enum BodyLimit {
    /// So many bytes are all there may be.
    Whole(usize),
    /// The beginning is kept, and more is read: a connection whose answer has been read can be used again.
    Beginning { kept: usize, read: usize },
}

impl Answer {
    /// Reads what there is room for. Its time is for the caller to give, before and after.
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
                // hyper closes a connection when what it reads is dropped before its end.
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
