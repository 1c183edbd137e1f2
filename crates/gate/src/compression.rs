//! Compression of pages and of answers of the API. Documents and assets are compressed once: see
//! [`document`](crate::document). Answers to SCIM clients stay plain: they are many, small, and rarely cross a slow network.

use std::io::Write;

use actix_web::{
    body::{BoxBody, MessageBody},
    dev::ServiceResponse,
    http::{
        Method, StatusCode,
        header::{self, HeaderMap, HeaderValue},
    },
    web::Bytes,
};
use flate2::{Compression, write::GzEncoder};

use crate::shape::Area;

/// Minimum size of an answer in bytes. A shorter one fits into one packet.
const MIN_SIZE: usize = 1024;
/// The usual level: most of what the highest one gains.
const LEVEL: Compression = Compression::new(6);

/// Compresses the answer to a GET with gzip if the client accepts it. Answers that contain a new secret are never answers
/// to a GET, so their length tells an eavesdropper nothing about it.
pub(crate) fn compressed(response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let request = response.request();
    let is_asked = request.method() == Method::GET && Area::of(request.path()) != Area::Scim;
    if !is_asked || response.status() != StatusCode::OK || !is_compressible(response.headers()) {
        return response;
    }
    let takes_gzip = takes_gzip(request.headers());
    response.map_body(|head, body| {
        // Bodies that are streamed, such as exports, stay plain.
        let bytes = match body.try_into_bytes() {
            Ok(bytes) => bytes,
            Err(body) => return body,
        };
        if bytes.len() < MIN_SIZE {
            return BoxBody::new(bytes);
        }
        head.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        match takes_gzip.then(|| gzip(&bytes, LEVEL)).flatten() {
            None => BoxBody::new(bytes),
            Some(smaller) => {
                head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                BoxBody::new(Bytes::from(smaller))
            }
        }
    })
}

/// Returns whether the body is text that is neither compressed nor identified by an ETag.
fn is_compressible(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_text = ["text/html", "application/json"].iter().any(|known| kind.starts_with(known));
    is_text && !headers.contains_key(header::CONTENT_ENCODING) && !headers.contains_key(header::ETAG)
}

/// Compresses a text. `None` if it does not become smaller.
pub(crate) fn gzip(text: &[u8], level: Compression) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(text).ok()?;
    encoder.finish().ok().filter(|bytes| bytes.len() < text.len())
}

/// Returns whether `Accept-Encoding` contains gzip with a weight above 0 (RFC 9110, section 12.5.3).
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
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
    use actix_web::{HttpResponse, test::TestRequest};

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

    fn is_compressed(request: TestRequest, kind: &'static str, size: usize) -> bool {
        let request = request.insert_header((header::ACCEPT_ENCODING, "gzip")).to_srv_request();
        let answer = HttpResponse::Ok().content_type(kind).body("a".repeat(size));
        let response = compressed(request.into_response(answer));
        let is_encoded = response.headers().contains_key(header::CONTENT_ENCODING);
        let length = response.into_body().try_into_bytes().unwrap().len();
        assert_eq!(is_encoded, length < size, "encoded, and smaller");
        is_encoded
    }

    #[test]
    fn long_answers_to_reads_are_compressed() {
        let get = |path: &str| TestRequest::get().uri(path);
        assert!(is_compressed(get("/settings"), "text/html; charset=utf-8", 2000));
        assert!(is_compressed(get("/api/settings/users"), "application/json", 2000));
        assert!(!is_compressed(get("/settings"), "text/html; charset=utf-8", 500), "short");
        assert!(!is_compressed(get("/settings"), "image/png", 2000), "no text");
        assert!(!is_compressed(get("/api/scim/v2/Users"), "application/json", 2000), "SCIM");
        assert!(!is_compressed(
            TestRequest::post().uri("/api/settings/scim-tokens"),
            "application/json",
            2000
        ));
    }
}
