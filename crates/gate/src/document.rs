//! Responses with texts that change only with a release.

use std::sync::OnceLock;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderValue},
    web::Bytes,
};
use flate2::Compression;
use ring::digest;

use crate::compression::{gzip, takes_gzip};

/// A text with its ETag, for conditional requests.
pub struct Document {
    kind: &'static str,
    hash: String,
    plain: Encoded,
    /// Compressed on first use; `None` if compression does not make it smaller.
    gzip: OnceLock<Option<Encoded>>,
}

/// Hexadecimal digits of a SHA-256 in an ETag: 128 bits.
const ETAG_DIGITS: usize = 32;

struct Encoded {
    bytes: Bytes,
    etag: HeaderValue,
}

impl Document {
    /// Builds a document of this media type. Also returns the first 12 hexadecimal digits of its SHA-256.
    pub fn new(kind: &'static str, text: impl Into<Bytes>) -> (Self, String) {
        let text = text.into();
        let hash = data_encoding::HEXLOWER.encode(digest::digest(&digest::SHA256, &text).as_ref());
        let digits = |count| hash.chars().take(count).collect::<String>();
        let (short, hash) = (digits(12), digits(ETAG_DIGITS));
        let plain = Encoded { bytes: text, etag: etag(&hash) };
        (Self { kind, hash, plain, gzip: OnceLock::new() }, short)
    }

    fn gzip(&self) -> Option<&Encoded> {
        let compressed = || {
            let bytes = gzip(&self.plain.bytes, Compression::best())?;
            Some(Encoded { bytes: bytes.into(), etag: etag(&format!("{}-gzip", self.hash)) })
        };
        self.gzip.get_or_init(compressed).as_ref()
    }

    /// Responds 200 with the text, or 304 if `If-None-Match` contains its ETag (RFC 9110, section 13.1.2).
    pub fn answer(&self, request: &HttpRequest) -> HttpResponse {
        self.answer_with(request, "no-cache")
    }

    /// Responds as [`Self::answer`], for a URL that never gets another text: caches keep it for a year and do not ask.
    pub fn answer_for_ever(&self, request: &HttpRequest) -> HttpResponse {
        self.answer_with(request, "public, max-age=31536000, immutable")
    }

    fn answer_with(&self, request: &HttpRequest, caching: &'static str) -> HttpResponse {
        let gzip = if takes_gzip(request.headers()) { self.gzip() } else { None };
        let chosen = gzip.unwrap_or(&self.plain);
        let mut known =
            request.headers().get_all(header::IF_NONE_MATCH).filter_map(|line| line.to_str().ok());
        let same = |tag: &str| tag.trim().trim_start_matches("W/").as_bytes() == chosen.etag.as_bytes();
        let fresh = known.any(|line| line.split(',').any(|tag| tag.trim() == "*" || same(tag)));
        let mut answer = if fresh { HttpResponse::NotModified() } else { HttpResponse::Ok() };
        answer.insert_header((header::ETAG, chosen.etag.clone()));
        answer.insert_header((header::CACHE_CONTROL, caching));
        answer.insert_header((header::VARY, "Accept-Encoding"));
        if fresh {
            return answer.finish();
        }
        if gzip.is_some() {
            answer.insert_header((header::CONTENT_ENCODING, "gzip"));
        }
        answer.content_type(self.kind).body(chosen.bytes.clone())
    }
}

fn etag(tag: &str) -> HeaderValue {
    HeaderValue::try_from(format!("\"{tag}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_does_not_shrink_is_sent_uncompressed() {
        assert!(Document::new("text/plain", "a").0.gzip().is_none());
        assert!(Document::new("text/plain", "a".repeat(1000)).0.gzip().is_some());
    }
}
