//! Responses with texts that change only with a release.

use std::{io::Write, sync::OnceLock};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderMap, HeaderValue},
    web::Bytes,
};
use flate2::{Compression, write::GzEncoder};
use ring::digest;

/// A text with its ETag, for conditional requests.
pub struct Document {
    kind: &'static str,
    hash: String,
    plain: Encoded,
    /// Compressed on first use; `None` if compression does not make it smaller.
    gzip: OnceLock<Option<Encoded>>,
}

struct Encoded {
    bytes: Bytes,
    etag: HeaderValue,
}

impl Document {
    /// Builds a document of this media type. Also returns the first 12 hexadecimal digits of its SHA-256.
    pub fn new(kind: &'static str, text: impl Into<Bytes>) -> (Self, String) {
        let text = text.into();
        let hash = data_encoding::HEXLOWER.encode(digest::digest(&digest::SHA256, &text).as_ref());
        let short = hash.chars().take(12).collect();
        let plain = Encoded { bytes: text, etag: etag(&hash) };
        (Self { kind, hash, plain, gzip: OnceLock::new() }, short)
    }

    fn gzip(&self) -> Option<&Encoded> {
        let compressed = || {
            let bytes = compress(&self.plain.bytes).filter(|bytes| bytes.len() < self.plain.bytes.len())?;
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

fn compress(text: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).ok()?;
    encoder.finish().ok()
}

/// Returns whether `Accept-Encoding` contains gzip with a weight above 0 (RFC 9110, section 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        is_gzip && weight.is_none_or(|weight| weight.parse().is_ok_and(|weight: f32| weight > 0.0))
    })
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn gzip_is_sent_only_if_accepted() {
        let takes = |accepted: &str| {
            let request = TestRequest::get().insert_header((header::ACCEPT_ENCODING, accepted));
            takes_gzip(request.to_http_request().headers())
        };
        assert!(["gzip", "br, GZIP", "deflate, gzip;q=0.5", "gzip; q=1.0"].into_iter().all(takes));
        assert!(!["", "br", "identity", "gzip;q=0", "gzip; q=0.000", "gzipped"].into_iter().any(takes));
    }

    #[test]
    fn text_that_does_not_shrink_is_sent_uncompressed() {
        assert!(Document::new("text/plain", "a").0.gzip().is_none());
        assert!(Document::new("text/plain", "a".repeat(1000)).0.gzip().is_some());
    }
}
