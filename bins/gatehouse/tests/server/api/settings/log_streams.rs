//! Log streams, from the configuration to the receiver.

use std::time::Duration;

use audit::log::{Checkpoint, Frontier};
use data_encoding::HEXLOWER;
use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Browser, MailServer, Received, Server, Sink, Tenant, eventually, on_both};

const STREAMS: &str = "/api/settings/log-streams";

fn admin(server: &Server, slug: &str) -> (Tenant, Browser) {
    let tenant = server.tenant(slug);
    let (_, browser) = server.signed_in(&tenant, &format!("admin@{slug}.example"), Role::Admin);
    (tenant, browser)
}

/// Creates a stream of the whole log to this URL. Returns its path.
fn stream(browser: &Browser, url: &str) -> String {
    let new = json!({ "name": "SIEM", "type": "HTTPS", "url": url, "from": 0 });
    let made = browser.post(STREAMS, &new);
    assert_eq!(made.status, 200, "{}", made.text);
    format!("{STREAMS}/{}", made.json()["id"].as_str().unwrap())
}

fn create_user(tenant: &Tenant, name: &str) {
    let made = tenant.scim.post("/api/scim/v2/Users", &json!({ "userName": name }));
    assert_eq!(made.status, 201, "{}", made.text);
}

/// Returns the events of a request.
fn events(received: &Received) -> Vec<Value> {
    received.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a receiver knows after it has read all requests.
#[derive(Default)]
struct Receiver {
    frontier: Frontier,
    /// Where the next range begins.
    next: u64,
    codes: Vec<String>,
    checkpoint: Option<Checkpoint>,
}

impl Receiver {
    /// Reads requests in order. Each range follows the previous one, and each entry the previous one.
    fn read(received: &[Received]) -> Self {
        let mut receiver = Self::default();
        for request in received {
            let mut events = events(request);
            let last = events.pop().unwrap();
            let range = &last["unmapped"];
            assert_eq!(last["metadata"]["event_code"], "AUDIT_LOG_CHECKPOINT");
            assert_eq!(
                (&range["from"], range["entries"].as_u64()),
                (&json!(receiver.next), Some(events.len() as u64))
            );
            for event in events {
                assert_eq!(event["metadata"]["sequence"], receiver.frontier.size());
                let leaf =
                    HEXLOWER.decode(event["raw_data_hash"]["value"].as_str().unwrap().as_bytes()).unwrap();
                receiver.frontier.push(leaf.try_into().unwrap(), |_, _| {});
                receiver.codes.push(event["metadata"]["event_code"].as_str().unwrap().to_owned());
            }
            receiver.next = range["next"].as_u64().unwrap();
            receiver.checkpoint = Some(Checkpoint::read(range["checkpoint"].as_str().unwrap()).unwrap());
        }
        receiver
    }
}

/// Returns the requests once the stream has sent everything.
fn received_all(browser: &Browser, path: &str, sink: &Sink, at: &str, code: &str) -> Vec<Received> {
    eventually(|| {
        let shown = browser.get(path).json();
        shown["waiting"] == 0 && sink.received(at).iter().any(|request| request.body.contains(code))
    });
    sink.received(at)
}

#[test]
fn log_stream_is_created_changed_and_removed() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        assert_eq!(browser.get(STREAMS).json(), json!({ "logStreams": [] }));
        let new = json!({ "name": "Splunk", "type": "SPLUNK_HEC", "url": "http://127.0.0.1:9", "secret": "hec-token", "eventFilters": ["ACCOUNT_USER_*"] });
        let made = browser.post(STREAMS, &new);
        assert_eq!((made.status, made.header("cache-control")), (200, "no-store"), "{}", made.text);
        assert!(!made.text.contains("hec-token"));
        let made = made.json();
        assert!(made["id"].as_str().unwrap().starts_with("lst_"));
        assert_eq!(made["url"], "http://127.0.0.1:9/services/collector/event");
        assert_eq!(
            (&made["hasSecret"], &made["enabled"], &made["waiting"]),
            (&json!(true), &json!(true), &json!(0))
        );
        let path = format!("{STREAMS}/{}", made["id"].as_str().unwrap());
        let change = |body: &Value| browser.send("PATCH", &path, Some(body));
        // Otherwise, somebody who does not know the secret could have it sent elsewhere.
        let moved = change(&json!({ "url": "http://127.0.0.2:9/" }));
        assert_eq!(moved.status, 400, "{}", moved.text);
        assert!(moved.json()["error"].as_str().unwrap().starts_with("secret: "), "{}", moved.text);
        let moved = change(&json!({ "url": "http://127.0.0.1:8/", "secret": "other", "enabled": false }));
        assert_eq!((moved.status, &moved.json()["enabled"]), (200, &json!(false)), "{}", moved.text);
        let before = server.entries(&tenant).len();
        assert_eq!(change(&json!({ "name": "Splunk" })).status, 200);
        assert_eq!(server.entries(&tenant).len(), before, "nothing changed");
        let entry = server.entry(&tenant, "ACCOUNT_LOG_STREAM_UPDATED");
        assert_eq!(entry.metadata, r#"{"changed":["enabled","url","secret"]}"#);
        let created = server.entry(&tenant, "ACCOUNT_LOG_STREAM_CREATED");
        assert!(created.metadata.starts_with(r#"{"type":"SPLUNK_HEC","from":"#), "{}", created.metadata);
        let (_, foreign) = admin(server, "umbrella");
        for other in
            [foreign.get(&path), foreign.delete(&path), foreign.post(&format!("{path}/test"), &json!({}))]
        {
            assert_eq!(other.status, 404, "{}", other.text);
        }
        assert_eq!(foreign.get(STREAMS).json(), json!({ "logStreams": [] }));
        assert_eq!(browser.delete(&path).json(), json!({ "deleted": true }));
        assert_eq!(browser.get(&path).status, 404);
        server.entry(&tenant, "ACCOUNT_LOG_STREAM_DELETED");
    });
}

#[test]
fn errors_name_the_member() {
    let server = Server::start(
        Kind::Sqlite,
        &[("webhooks_allow_cidrs", "192.0.2.1"), ("webhooks_allow_http", "false")],
    );
    let (_, browser) = admin(&server, "acme");
    let https = "https://siem.example.com/";
    for (member, body) in [
        ("name", json!({ "name": " x", "type": "HTTPS", "url": https })),
        ("url", json!({ "name": "x", "type": "HTTPS", "url": "http://siem.example.com/" })),
        ("url", json!({ "name": "x", "type": "HTTPS", "url": "https://169.254.169.254/" })),
        ("url", json!({ "name": "x", "type": "SYSLOG", "url": "syslog+tls://127.0.0.1:6514" })),
        ("secret", json!({ "name": "x", "type": "SPLUNK_HEC", "url": https })),
        (
            "secret",
            json!({ "name": "x", "type": "HTTPS", "url": https, "header": "Authorization", "secret": "a\nb" }),
        ),
        ("bucket", json!({ "name": "x", "type": "HTTPS", "url": https, "bucket": "logs" })),
        ("region", json!({ "name": "x", "type": "S3", "url": https, "bucket": "logs", "secret": "x" })),
        (
            "caCertificates",
            json!({ "name": "x", "type": "SYSLOG", "url": "syslog+tls://logs.example.com", "caCertificates": "x" }),
        ),
        ("from", json!({ "name": "x", "type": "HTTPS", "url": https, "from": 1_000_000 })),
        ("eventFilters", json!({ "name": "x", "type": "HTTPS", "url": https, "eventFilters": ["a b"] })),
        ("type", json!({ "name": "x", "type": "FTP", "url": https })),
    ] {
        let refused = browser.post(STREAMS, &body);
        assert_eq!(refused.status, 400, "{body}: {}", refused.text);
        let error = refused.json()["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with(member), "{body}: {error}");
    }
    for number in 0..21 {
        let made = browser.post(STREAMS, &json!({ "name": "x", "type": "HTTPS", "url": https }));
        assert_eq!(made.status, if number < 20 { 200 } else { 409 }, "{}", made.text);
    }
}

#[test]
fn receiver_gets_the_whole_log_in_order_and_can_prove_it() {
    let sink = Sink::start();
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let at = format!("/{}", tenant.id);
        create_user(&tenant, "ada@example.com");
        let path = stream(&browser, &sink.url(&at));
        received_all(&browser, &path, &sink, &at, "ACCOUNT_LOG_STREAM_CREATED");
        // Later entries continue where the first batch ended.
        create_user(&tenant, "bob@example.com");
        let deleted = browser.delete(&format!("{STREAMS}/lst_00000000000000000000000000"));
        assert_eq!(deleted.status, 404);
        eventually(|| {
            let users =
                |codes: &[String]| codes.iter().filter(|code| *code == "ACCOUNT_USER_CREATED").count();
            users(&Receiver::read(&sink.received(&at)).codes) >= 2
        });
        let requests = received_all(&browser, &path, &sink, &at, "ACCOUNT_USER_CREATED");
        assert!(
            requests.len() >= 2
                && requests.iter().all(|one| one.header("content-type") == "application/x-ndjson")
        );
        let receiver = Receiver::read(&requests);
        let entries = server.entries(&tenant);
        assert_eq!(receiver.codes.len(), entries.len());
        let checkpoint = receiver.checkpoint.unwrap();
        assert_eq!((checkpoint.size, checkpoint.root), (receiver.frontier.size(), receiver.frontier.root()));
    });
}

#[test]
fn filtered_stream_names_the_ranges_that_it_has_passed() {
    let sink = Sink::start();
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let at = format!("/{}", tenant.id);
        let new = json!({ "name": "SIEM", "type": "HTTPS", "url": sink.url(&at), "eventFilters": ["ACCOUNT_GROUP_*"], "from": 0, "header": "X-Key", "secret": "Bearer key" });
        let made = browser.post(STREAMS, &new);
        assert_eq!(made.status, 200, "{}", made.text);
        let path = format!("{STREAMS}/{}", made.json()["id"].as_str().unwrap());
        eventually(|| browser.get(&path).json()["position"].as_u64() > Some(0));
        assert!(sink.received(&at).is_empty(), "there is no group yet");
        for name in ["One", "Two"] {
            let group =
                json!({ "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"], "displayName": name });
            assert_eq!(tenant.scim.post("/api/scim/v2/Groups", &group).status, 201);
            create_user(&tenant, &format!("{name}@example.com"));
            let count = if name == "One" { 1 } else { 2 };
            let groups = || {
                sink.received(&at)
                    .iter()
                    .map(|request| request.body.matches("ACCOUNT_GROUP_CREATED").count())
                    .sum::<usize>()
            };
            eventually(|| groups() >= count);
        }
        let mut next = 0;
        for request in sink.received(&at) {
            assert_eq!(request.header("x-key"), "Bearer key");
            let range = events(&request).pop().unwrap()["unmapped"].clone();
            assert_eq!((&range["from"], &range["filtered"]), (&json!(next), &json!(true)));
            next = range["next"].as_u64().unwrap();
        }
    });
}

#[test]
fn failing_stream_says_why_and_loses_nothing() {
    let sink = Sink::start();
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let at = format!("/{}", tenant.id);
        sink.answers(&at, 503, "", "maintenance");
        let path = stream(&browser, &sink.url(&at));
        eventually(|| browser.get(&path).json()["problem"] != Value::Null);
        let failing = browser.get(&path).json();
        let problem = json!({ "code": "REFUSED", "status": 503, "response": "maintenance" });
        assert_eq!((&failing["problem"], &failing["position"]), (&problem, &json!(0)));
        assert!(failing["failingSince"].is_string() && failing["nextAttemptAt"].is_string());
        let tested = browser.post(&format!("{path}/test"), &json!({})).json();
        assert_eq!((&tested["accepted"], &tested["problem"]["status"]), (&json!(false), &json!(503)));
        create_user(&tenant, "ada@example.com");
        // Smaller batches, if the receiver wants them.
        sink.answers(&at, 413, "", "");
        server.env.advance(Duration::from_mins(6));
        eventually(|| sink.received(&at).iter().any(|request| events(request).len() == 2));
        // Recorded before the clock moves on, so that the next attempt is due then.
        eventually(|| browser.get(&path).json()["problem"]["status"] == 413);
        let refused = sink.received(&at).len();
        sink.answers(&at, 204, "", "");
        server.env.advance(Duration::from_mins(6));
        eventually(|| browser.get(&path).json()["waiting"] == 0);
        let healthy = browser.get(&path).json();
        assert_eq!((healthy.get("problem"), healthy.get("failingSince")), (None, None));
        let accepted: Vec<_> = sink.received(&at).into_iter().skip(refused).collect();
        let first = accepted
            .iter()
            .position(|request| events(request).pop().unwrap()["unmapped"]["from"] == 0)
            .unwrap();
        let receiver = Receiver::read(&accepted[first..]);
        assert_eq!(receiver.codes.len(), server.entries(&tenant).len());
        let tested = browser.post(&format!("{path}/test"), &json!({})).json();
        assert_eq!(tested["accepted"], true);
    });
}

#[test]
fn entries_are_sent_again_from_any_position() {
    let sink = Sink::start();
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let at = format!("/{}", tenant.id);
        let path = stream(&browser, &sink.url(&at));
        let sent = received_all(&browser, &path, &sink, &at, "ACCOUNT_LOG_STREAM_CREATED").len();
        let resent = browser.post(&format!("{path}/resend"), &json!({ "from": 2 }));
        assert_eq!((resent.status, &resent.json()["position"]), (200, &json!(2)), "{}", resent.text);
        let after = |request: &Received| events(request)[0]["metadata"]["sequence"].clone();
        eventually(|| sink.received(&at).iter().skip(sent).any(|request| after(request) == 2));
        let far = browser.post(&format!("{path}/resend"), &json!({ "from": 100_000 }));
        assert_eq!(far.status, 400, "{}", far.text);
        assert!(far.json()["error"].as_str().unwrap().starts_with("from: "), "{}", far.text);
        server.entry(&tenant, "ACCOUNT_LOG_STREAM_RESENT");
    });
}

#[test]
fn splunk_gets_events_with_its_token() {
    let sink = Sink::start();
    let server = Server::start(Kind::Sqlite, &[]);
    let (_, browser) = admin(&server, "acme");
    let at = "/services/collector/event";
    sink.answers(at, 200, "", r#"{"text":"Success","code":0}"#);
    let new = json!({ "name": "Splunk", "type": "SPLUNK_HEC", "url": sink.url(""), "secret": "hec-token", "from": 0 });
    assert_eq!(browser.post(STREAMS, &new).status, 200);
    let request = sink.await_received(at, 1).remove(0);
    assert_eq!(request.header("authorization"), "Splunk hec-token");
    assert_eq!(request.header("x-splunk-request-channel").len(), 36);
    let first: Value = serde_json::from_str(request.body.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["sourcetype"], &first["event"]["metadata"]["sequence"]),
        (&json!("gatehouse:ocsf"), &json!(0))
    );
}

#[test]
fn administrators_get_a_message_when_a_stream_fails_for_an_hour() {
    let (mail, sink) = (MailServer::start(), Sink::start());
    for kind in Kind::ALL {
        let smtp_url = format!("smtp://{}", mail.address);
        let server = Server::start(kind, &[("smtp_url", &smtp_url)]);
        let (tenant, browser) = admin(&server, "acme");
        let at = format!("/{}", tenant.id);
        sink.answers(&at, 401, "", "");
        let path = stream(&browser, &sink.url(&at));
        eventually(|| browser.get(&path).json()["problem"] != Value::Null);
        server.env.advance(Duration::from_mins(61));
        let message = mail.mail.recv_timeout(Duration::from_secs(30)).unwrap();
        let message = message.replace("=\r\n", "").replace("=\n", "").replace("=3D", "=");
        let id = path.rsplit('/').next().unwrap();
        let page = format!("/settings/log-streams?id={id}");
        for expected in ["Subject: A log stream fails", "To: admin@acme.example", "SIEM", &page, "REFUSED"] {
            assert!(message.contains(expected), "{expected}: {message}");
        }
        let entry = server.entry(&tenant, "ACCOUNT_LOG_STREAM_FAILING");
        assert!(entry.metadata.contains("\"problem\":\"REFUSED\""), "{}", entry.metadata);
    }
}
