//! Unusual paths, methods, bodies and headers.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Server, on_both};

const USERS: &str = "/api/scim/v2/Users";

/// Sends raw bytes and reads until the server closes or stops sending.
fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // The server may refuse and close before it has read everything.
    let _refused = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _closed = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn unknown_paths_and_methods_are_reported_before_credentials_are_checked() {
    on_both(|server| {
        let anybody = server.anonymous();
        insta::allow_duplicates! {
            insta::assert_snapshot!(anybody.get("/nothing").shown(), @r#"404 {"error":"Nothing was found at this URL. Check the path and the IDs in it.","code":"NOT_FOUND"}"#);
            insta::assert_snapshot!(anybody.get("/api/nothing").shown(), @r#"404 {"error":"Nothing was found at this URL. Check the path and the IDs in it.","code":"NOT_FOUND"}"#);
            insta::assert_snapshot!(anybody.get("/api/scim/v2/nothing").shown(), @r#"404 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"404","detail":"Nothing was found at this URL. Check the path and the IDs in it."}"#);
            insta::assert_snapshot!(anybody.send("DELETE", USERS, None, "").shown(), @r#"405 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"405","detail":"This path does not support this method. Use one from the Allow header."}"#);
        }
        assert_eq!(anybody.send("DELETE", USERS, None, "").header("allow"), "GET, POST");
        assert_eq!(anybody.send("PUT", "/api/scim/v2/Users/x", None, "").status, 401);
        assert_eq!(anybody.send("POST", "/developers", None, "").status, 405);
        for path in
            ["/api/scim/v2/Users/", "/api/scim/v2/Users/a/b", "//api/scim/v2/Users", "/api/scim/v2/users"]
        {
            assert_eq!(anybody.get(path).status, 404, "{path}");
        }
    });
}

#[test]
fn body_errors_are_checked_in_order() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let send = |kind: Option<&str>, body: &str| scim.send("POST", USERS, kind, body);
        insta::allow_duplicates! {
            insta::assert_snapshot!(send(Some("text/plain"), "{").shown(), @r#"415 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"415","detail":"Send the body as application/scim+json or application/json."}"#);
            insta::assert_snapshot!(send(None, "{}").shown(), @r#"415 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"415","detail":"Send the body as application/scim+json or application/json."}"#);
            insta::assert_snapshot!(send(Some("application/json"), "{").shown(), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"The body is not valid JSON: EOF while parsing an object at line 1 column 1","scimType":"invalidSyntax"}"#);
            insta::assert_snapshot!(send(Some("application/json"), "").shown(), @r#"400 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"The body is not valid JSON: EOF while parsing a value at line 1 column 0","scimType":"invalidSyntax"}"#);
        }
        let padded = format!("{{\"userName\":\"big\"}}{}", " ".repeat(1024 * 1024));
        let large = send(Some("application/scim+json"), &padded);
        assert_eq!((large.status, &large.json()["status"]), (413, &json!("413")));
        assert_eq!(send(Some("text/plain"), &padded).status, 415, "415 comes before 413");
        let fits = format!("{{\"userName\":\"fits\"}}{}", " ".repeat(1024 * 1024 - 19));
        assert_eq!(send(Some("APPLICATION/SCIM+JSON; charset=utf-8"), &fits).status, 201);
    });
}

#[test]
fn hostile_json_is_a_400() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let deep = format!("{}{}", "[".repeat(64_000), "]".repeat(64_000));
        let deep_member = format!("{{\"userName\":\"a\",\"x\":{deep}}}");
        for body in
            ["null", "1", "\"a\"", "[]", "{\"userName\":\"\\ud800\"}", "\u{feff}{}", &deep, &deep_member]
        {
            let answer = scim.send("POST", USERS, Some("application/json"), body);
            let shown: String = body.chars().take(40).collect();
            assert_eq!(
                (answer.status, &answer.json()["scimType"]),
                (400, &json!("invalidSyntax")),
                "{shown}"
            );
        }
        let nul = scim.send("POST", USERS, Some("application/json"), r#"{"userName":"a\u0000b"}"#);
        assert_eq!((nul.status, &nul.json()["scimType"]), (400, &json!("invalidValue")));
        let token = server.tenant("bytes").token;
        let invalid_utf8 = [
            format!(
                "POST {USERS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
                     Content-Type: application/json\r\nContent-Length: 16\r\n\r\n"
            )
            .as_bytes(),
            b"{\"userName\":\"\xff\"}",
        ]
        .concat();
        let answer = raw(server, &invalid_utf8);
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("invalidSyntax"), "{answer}");
    });
}

#[test]
fn headers_are_bounded() {
    on_both(|server| {
        let big = format!("GET {USERS} HTTP/1.1\r\nHost: x\r\nX-Big: {}\r\n\r\n", "a".repeat(1024 * 1024));
        let answer = raw(server, big.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer:.100}");
        assert_eq!(
            server.anonymous().get("/api/developers/events.json").status,
            200,
            "the server is still running"
        );
    });
}

#[test]
fn every_response_has_the_security_headers() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        for (answer, caching) in [
            (scim.get(USERS), "no-store"),
            (server.anonymous().get(USERS), "no-store"),
            (server.anonymous().get("/nothing"), "no-store"),
            (server.anonymous().get("/developers"), "no-cache"),
        ] {
            assert_eq!(answer.header("x-content-type-options"), "nosniff");
            let policy = answer.header("content-security-policy").to_owned();
            for part in ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"] {
                assert!(policy.contains(part), "{part}: {policy}");
            }
            assert_eq!(answer.header("referrer-policy"), "no-referrer");
            assert_eq!(answer.header("cache-control"), caching);
            assert!(answer.header("x-request-id").starts_with("req_"));
            assert_eq!(answer.header("strict-transport-security"), "", "not over http");
            assert_eq!(answer.header("access-control-allow-origin"), "");
        }
    });
    let https = Server::start(store::testing::Kind::Sqlite, &[("base_url", "https://gate.example.com")]);
    let answer = https.anonymous().get("/api/scim/v2/ServiceProviderConfig");
    assert_eq!(answer.header("strict-transport-security"), "max-age=31536000; includeSubDomains");
    let location: Value = answer.json()["meta"]["location"].clone();
    assert_eq!(location, "https://gate.example.com/api/scim/v2/ServiceProviderConfig");
}

#[test]
fn forwarded_client_address_is_accepted_only_from_a_trusted_proxy() {
    for (trusted, expected) in [("", "127.0.0.1"), ("127.0.0.1", "203.0.113.7")] {
        let server = Server::start(store::testing::Kind::Sqlite, &[("trusted_proxies", trusted)]);
        let tenant = server.tenant("acme");
        let caller =
            tenant.scim.with("X-Forwarded-For", "198.51.100.1, 203.0.113.7").with("Forwarded", "for=6.6.6.6");
        assert_eq!(caller.post(USERS, &json!({ "userName": "ada" })).status, 201);
        assert_eq!(server.entry(&tenant, "ACCOUNT_USER_CREATED").ip.as_deref(), Some(expected));
    }
}
