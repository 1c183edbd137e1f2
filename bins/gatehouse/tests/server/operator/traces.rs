//! Traces of requests.

use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Caller, Process};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PATH: &str = "/api/developers/events.json";

fn answered(log: &str) -> Vec<Value> {
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["message"] == "answered").collect()
}

#[test]
fn trace_is_continued_or_started_and_logged() {
    let process = Process::on(Kind::Sqlite, &[]);
    let token = process.tenant("acme");
    let server = process.serve();
    let anybody = Caller::anonymous(server.address);
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let continued = anybody.with("traceparent", &parent).get(PATH);
    let response = continued.header("traceresponse");
    assert!(response.starts_with(&format!("00-{TRACE}-")) && response.ends_with("-01"), "{response}");
    assert!(!response.contains("00f067aa0ba902b7"), "the parent ID is the server's own");
    let begun = anybody.with("traceparent", "nonsense").get(PATH);
    assert!(!begun.header("traceresponse").contains(TRACE));
    anybody.with("traceparent", &parent).with("traceparent", &parent).get(PATH);
    anybody.bearer(&token).get("/api/scim/v2/Users");

    let lines = answered(&server.log());
    assert_eq!(lines[0]["trace_id"], TRACE);
    assert_eq!(lines[0]["request_id"], continued.header("x-request-id"));
    assert_eq!(lines[1]["trace_id"], begun.header("traceresponse")[3..35]);
    assert_ne!(lines[2]["trace_id"], TRACE, "two parents are ignored");
    assert!(lines[3]["tenant"].as_str().unwrap().starts_with("ten_"));
}

#[test]
fn refused_requests_are_logged_with_actor_code_and_reason() {
    let process = Process::on(Kind::Sqlite, &[]);
    let token = process.tenant("acme");
    let server = process.serve();
    let anybody = Caller::anonymous(server.address);
    anybody.bearer(&token).get("/api/settings/users");
    anybody.bearer("scim_nonsense").get("/api/scim/v2/Users");
    let cross_site = anybody.with("Sec-Fetch-Site", "cross-site");
    cross_site.send("POST", "/api/auth/sign-out", Some("application/json"), "{}");
    anybody.bearer(&token).get("/api/scim/v2/Users");

    let lines = answered(&server.log());
    let shown = |line: &Value| ["status", "code", "reason"].map(|name| line[name].clone());
    let expected = [
        [json!(403), json!("FORBIDDEN"), json!("CREDENTIAL_KIND")],
        [json!(401), json!("UNAUTHENTICATED"), json!(null)],
        [json!(403), json!("FORBIDDEN"), json!("CROSS_SITE")],
        [json!(200), json!(null), json!(null)],
    ];
    assert_eq!(lines.iter().map(shown).collect::<Vec<_>>(), expected);
    let actor = lines[0]["actor"].as_str().unwrap();
    assert!(actor.starts_with("sct_"), "{actor}");
    assert_eq!(lines[3]["actor"], actor);
    assert_eq!(lines[1]["actor"], json!(null), "an unknown token is not logged");
    assert!(!server.log().contains(&token) && !server.log().contains("scim_nonsense"));
}

/// Reads the spans that are sent to a collector on this connection, and answers with this status line and headers.
/// Returns the head of the request and its body.
#[cfg(feature = "otlp")]
fn received(stream: &mut std::io::BufReader<std::net::TcpStream>, answer: &str) -> (String, Vec<u8>) {
    use std::io::{BufRead, Read, Write};

    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).unwrap(), 0);
    }
    let length =
        head.to_lowercase().split("content-length: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    write!(stream.get_mut(), "HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n").unwrap();
    (head, body)
}

/// A redirect of the collector is not followed: its spans are dropped, and the next are sent to the collector again.
#[cfg(feature = "otlp")]
#[test]
fn collectors_redirects_are_not_followed() {
    use std::{
        io::{BufReader, ErrorKind},
        net::TcpListener,
    };

    let (collector, elsewhere) =
        (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let process = Process::on(
        Kind::Sqlite,
        &[("GATEHOUSE_OTLP_ENDPOINT", &endpoint), ("OTEL_BSP_SCHEDULE_DELAY", "100")],
    );
    let server = process.serve();
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let anybody = Caller::anonymous(server.address);
    let redirect = format!(
        "307 Temporary Redirect\r\nConnection: close\r\nLocation: http://{}/v1/traces",
        elsewhere.local_addr().unwrap()
    );
    for _ in 0..2 {
        anybody.with("traceparent", &parent).get(PATH);
        let mut stream = BufReader::new(collector.accept().unwrap().0);
        assert!(received(&mut stream, &redirect).0.starts_with("POST /v1/traces HTTP/1.1\r\n"));
    }
    elsewhere.set_nonblocking(true).unwrap();
    let nothing = elsewhere.accept().unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock, "the first redirect was followed");
}

/// Recorded traces are sent to an OpenTelemetry collector.
#[cfg(feature = "otlp")]
#[test]
fn spans_reach_a_collector() {
    use std::io::BufReader;

    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let process = Process::on(Kind::Sqlite, &[("GATEHOUSE_OTLP_ENDPOINT", &endpoint)]);
    process.tenant("acme");
    let server = process.serve();
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let unrecorded = format!("00-{}-00f067aa0ba902b7-00", "a".repeat(32));
    let anybody = Caller::anonymous(server.address);
    anybody.with("traceparent", &unrecorded).get(PATH);
    anybody.with("traceparent", &parent).get(PATH);

    let mut stream = BufReader::new(collector.accept().unwrap().0);
    let (head, body) = received(&mut stream, "200 OK");
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    let holds = |part: &[u8]| body.windows(part.len()).any(|window| window == part);
    let trace = data_encoding::HEXLOWER.decode(TRACE.as_bytes()).unwrap();
    assert!(holds(&trace) && holds(b"GET /api/developers/events.json") && holds(b"gatehouse"));
    assert!(!holds(&[0xaa; 16]), "an unsampled trace is not exported");
}

#[cfg(not(feature = "otlp"))]
#[test]
fn without_the_feature_the_endpoint_setting_is_refused() {
    let process = Process::on(Kind::Sqlite, &[("GATEHOUSE_OTLP_ENDPOINT", "http://127.0.0.1:4318")]);
    assert!(process.refused(&["serve"]).1.contains("built without the feature otlp"));
}
