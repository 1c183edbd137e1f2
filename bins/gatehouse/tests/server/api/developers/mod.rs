use std::io::{Read, Write};

use crate::support::on_both;

#[test]
fn documents_are_public_and_support_conditional_requests() {
    on_both(|server| {
        for path in ["/api/developers/openapi.json", "/api/developers/events.json"] {
            // An invalid credential is ignored on public operations.
            let first = server.anonymous().bearer("nonsense").get(path);
            assert_eq!(first.status, 200);
            assert_eq!(first.header("content-type"), "application/json");
            let again = server.anonymous().with("If-None-Match", first.header("etag")).get(path);
            assert_eq!((again.status, again.text.as_str()), (304, ""));
            let weak = format!("\"x\", W/{}", first.header("etag"));
            assert_eq!(server.anonymous().with("If-None-Match", &weak).get(path).status, 304);
            assert_eq!(server.anonymous().with("If-None-Match", "\"x\"").get(path).status, 200);
        }
    });
}

#[test]
fn large_documents_are_compressed_and_support_conditional_requests() {
    on_both(|server| {
        for path in ["/developers", "/api/developers/openapi.json", "/api/developers/events.json"] {
            let plain = server.anonymous().get(path);
            let takes_gzip = server.anonymous().with("Accept-Encoding", "br, gzip");
            let first = raw(server.address, path, "Accept-Encoding: br, gzip\r\n");
            let (head, body) =
                first.split_at(first.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4);
            let head = String::from_utf8_lossy(head).to_ascii_lowercase();
            assert!(
                head.contains("content-encoding: gzip") && head.contains("vary: accept-encoding"),
                "{head}"
            );
            let mut text = String::new();
            flate2::read::GzDecoder::new(body).read_to_string(&mut text).unwrap();
            assert_eq!(text, plain.text, "{path}");
            assert!(body.len() * 4 < text.len(), "{path}: {} of {}", body.len(), text.len());
            let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().trim().to_owned();
            assert_ne!(tag, plain.header("etag"), "each encoding has its own ETag");
            assert_eq!((plain.header("vary"), plain.header("content-encoding")), ("Accept-Encoding", ""));
            let again = takes_gzip.with("If-None-Match", &tag).get(path);
            assert_eq!((again.status, again.header("etag"), again.text.as_str()), (304, tag.as_str(), ""));
            let again = server.anonymous().with("If-None-Match", plain.header("etag")).get(path);
            assert_eq!((again.status, again.text.as_str()), (304, ""));
        }
    });
}

/// Returns the response as raw bytes.
fn raw(address: std::net::SocketAddr, path: &str, headers: &str) -> Vec<u8> {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

#[test]
fn spec_version_identifies_the_document() {
    on_both(|server| {
        let document = server.anonymous().get("/api/developers/openapi.json");
        let hash = ring::digest::digest(&ring::digest::SHA256, document.text.as_bytes());
        let hash = data_encoding::HEXLOWER.encode(hash.as_ref());
        assert_eq!(document.header("x-service-spec-version"), format!("1.0.0+{}", &hash[..12]));
        let tenant = server.tenant("acme");
        for answer in [
            tenant.scim.get("/api/scim/v2/Users"),
            server.anonymous().get("/api/scim/v2/Users"),
            server.anonymous().get("/api/nothing"),
        ] {
            assert_eq!(answer.header("x-service-spec-version"), document.header("x-service-spec-version"));
        }
        assert_eq!(server.anonymous().get("/nothing").header("x-service-spec-version"), "");
    });
}

#[test]
fn the_checked_in_document_is_the_served_one() {
    let served = serde_json::to_string_pretty(&gatehouse::api::document()).unwrap();
    let kept = include_str!("../../../../../../docs/openapi.json");
    assert!(
        kept.trim_end() == served,
        "run: cargo run -- openapi > docs/openapi.json, and read the difference"
    );
}

#[test]
fn every_reference_in_the_document_resolves() {
    let document = gatehouse::api::document();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], "1.0.0");
    let text = document.to_string();
    let references: Vec<_> =
        text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(references.len() > 20);
    for reference in references {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
}

#[test]
fn the_catalog_describes_every_event_with_an_example() {
    let catalog = gatehouse::api::events();
    let events = catalog["events"].as_array().unwrap();
    assert_eq!(events.len(), audit::events::catalog().specs().len());
    for event in events {
        assert_eq!(event["example"]["type"], event["type"]);
        assert_eq!(event["schema"]["properties"]["type"]["const"], event["type"]);
        assert_eq!(event["example"]["resource"]["type"], event["resourceType"]);
    }
}
