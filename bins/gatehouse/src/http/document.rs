//! What is the same until the next release.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderValue},
    web,
};
use ring::digest;

/// A text with its tag: asked for anew each time, and sent when it is another.
pub(crate) struct Document {
    kind: &'static str,
    text: web::Bytes,
    etag: HeaderValue,
}

impl Document {
    /// A text of this media type, and the beginning of its SHA-256 in hexadecimal.
    pub(crate) fn new(kind: &'static str, text: impl Into<web::Bytes>) -> (Self, String) {
        let text = text.into();
        let hash = data_encoding::HEXLOWER.encode(digest::digest(&digest::SHA256, &text).as_ref());
        let etag = HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""));
        let short = hash.chars().take(12).collect();
        (Self { kind, text, etag }, short)
    }

    /// 200 with the text, or 304 where `If-None-Match` names it (RFC 9110, section 13.1.2).
    pub(crate) fn answer(&self, request: &HttpRequest) -> HttpResponse {
        let mut known =
            request.headers().get_all(header::IF_NONE_MATCH).filter_map(|line| line.to_str().ok());
        let same = |tag: &str| tag.trim().trim_start_matches("W/").as_bytes() == self.etag.as_bytes();
        let fresh = known.any(|line| line.split(',').any(|tag| tag.trim() == "*" || same(tag)));
        let mut answer = if fresh { HttpResponse::NotModified() } else { HttpResponse::Ok() };
        answer.insert_header((header::ETAG, self.etag.clone()));
        answer.insert_header((header::CACHE_CONTROL, "no-cache"));
        if fresh { answer.finish() } else { answer.content_type(self.kind).body(self.text.clone()) }
    }
}
