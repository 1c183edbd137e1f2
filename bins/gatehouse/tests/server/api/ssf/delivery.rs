//! Events on their way to receivers.

use std::time::{Duration, Instant};

use directory::Role;
use serde_json::{Value, json};

use super::{Site, event, post};
use crate::support::{Sink, eventually, on_both};

/// Returns the types of events.
fn types(claims: &[Value]) -> Vec<String> {
    claims.iter().map(|claims| event(claims).0).collect()
}

/// Creates a stream that pushes to this path.
fn pushing(site: &Site, sink: &Sink, path: &str) -> Value {
    let delivery = json!({ "method": "urn:ietf:rfc:8935", "endpoint_url": sink.url(path), "authorization_header": "Bearer secret" });
    site.stream(&json!({ "delivery": delivery }))
}

#[test]
fn events_are_polled_until_they_are_acknowledged() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let stream = site.stream(&json!({}));
        let user = site.create_user("ada@example.com");
        let path = format!("/api/scim/v2/Users/{user}");
        let patch = |path_of: &str, value: &Value| {
            let operations = json!([{ "op": "replace", "path": path_of, "value": value }]);
            assert_eq!(site.tenant.scim.operations(&path, &operations).status, 200);
        };
        patch("title", &json!("Countess"));
        patch("active", &json!(false));
        patch("active", &json!(true));
        patch("userName", &json!("augusta@example.com"));
        assert_eq!(site.tenant.scim.delete(&path).status, 204);
        let claims = site.polled(&stream, &[]);
        let mut found = types(&claims);
        found.sort();
        assert_eq!(
            found,
            [
                "account-disabled",
                "account-enabled",
                "account-purged",
                "identifier-changed",
                "prov:activate",
                "prov:create:notice",
                "prov:deactivate",
                "prov:delete",
                "prov:patch:notice",
                "prov:patch:notice",
                "session-revoked",
                "session-revoked",
            ]
        );
        for claims in &claims {
            let (kind, payload) = event(claims);
            let subject = &claims["sub_id"];
            match kind.as_str() {
                "identifier-changed" => {
                    assert_eq!(*subject, json!({ "format": "email", "email": "ada@example.com" }));
                    assert_eq!(payload["new-value"], "augusta@example.com");
                }
                _ if kind.starts_with("prov:") => {
                    assert_eq!(
                        *subject,
                        json!({ "format": "scim", "uri": format!("/Users/{user}"), "id": user })
                    );
                }
                _ => assert_eq!(*subject, json!({ "format": "iss_sub", "iss": claims["iss"], "sub": user })),
            }
            if kind == "prov:create:notice" {
                assert_eq!(payload["attributes"], json!(["userName"]));
            }
        }
        // Unless they are acknowledged, they come again.
        assert_eq!(site.polled(&stream, &[]).len(), claims.len());
        let ids: Vec<_> = claims.iter().map(|claims| claims["jti"].as_str().unwrap()).collect();
        assert_eq!(site.polled(&stream, &ids[1..]), claims[..1]);
        let last = json!({ "returnImmediately": true, "setErrs": { ids[0]: { "err": "invalid_request", "description": "no" } } });
        assert_eq!(site.poll(&stream, &last).json(), json!({ "sets": {}, "moreAvailable": false }));
        let shown = site.admin.get(&site.path).json();
        assert_eq!(shown["stream"]["pending"], 0, "{shown}");
        assert!(shown["stream"]["deliveredAt"].is_string(), "{shown}");
    });
}

#[test]
fn poll_returns_a_part_and_waits_for_the_first_event() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let stream = site.stream(&json!({}));
        for name in ["ada", "ben", "cid"] {
            site.create_user(name);
        }
        let part = site.poll(&stream, &json!({ "returnImmediately": true, "maxEvents": 2 })).json();
        assert_eq!((part["sets"].as_object().unwrap().len(), &part["moreAvailable"]), (2, &json!(true)));
        let all: Vec<_> = site.polled(&stream, &[]).iter().map(|claims| claims["jti"].clone()).collect();
        let only = site.poll(&stream, &json!({ "maxEvents": 0, "ack": all })).json();
        assert_eq!(only, json!({ "sets": {}, "moreAvailable": false }));
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let (receiver, path) =
                (&site.receiver, format!("/api/ssf/poll/{}", stream["stream_id"].as_str().unwrap()));
            let waiting = scope.spawn(move || post(receiver, &path, &json!({})));
            let reads = server.env.reads();
            eventually(|| server.env.reads() > reads);
            site.create_user("dora");
            assert_eq!(waiting.join().unwrap().json()["sets"].as_object().unwrap().len(), 1);
        });
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    });
}

#[test]
fn events_of_sessions_and_credentials_name_the_user_and_the_session() {
    on_both(|server| {
        let site = Site::with(server, "acme", &json!({ "subjectFormat": "EMAIL" }));
        let stream = site.stream(&json!({}));
        let (person, browser) = server.signed_in(&site.tenant, "ada@acme.example", Role::Member);
        let session = browser.cookie("as_sid");
        crate::api::auth::enrolment::enrol_totp(server, &browser);
        assert_eq!(browser.post("/api/auth/sign-out", &json!({})).status, 200);
        let claims = site.polled(&stream, &[]);
        let of = |kind: &str| {
            let found = claims.iter().find(|claims| event(claims).0 == kind);
            found.unwrap_or_else(|| panic!("{kind} is not among {:?}", types(&claims)))
        };
        let account = json!({ "format": "email", "email": "ada@acme.example" });
        let change = of("credential-change");
        assert_eq!(change["sub_id"], account);
        let payload = event(change).1;
        assert_eq!((&payload["credential_type"], &payload["change_type"]), (&json!("app"), &json!("create")));
        assert_eq!(payload["initiating_entity"], "user");
        assert!(!payload["reason_admin"]["en"].as_str().unwrap().is_empty());
        let revoked = of("session-revoked");
        assert_eq!((&revoked["sub_id"]["format"], &revoked["sub_id"]["user"]), (&json!("complex"), &account));
        assert!(revoked["sub_id"]["session"]["id"].as_str().unwrap().starts_with("ses_"), "{session}");
        assert_eq!(event(revoked).1["initiating_entity"], "user");
        let assured = of("assurance-level-change");
        assert_eq!(event(assured).1["current_level"], "nist-aal2");
        // An administrator ends all sessions of a user. That of a user without sessions says nothing.
        let end = |id: &kernel::UserId| {
            let sessions = format!("/api/settings/users/{id}/sessions");
            assert_eq!(site.admin.send("DELETE", &sessions, None).status, 200);
        };
        let (other, _) = server.signed_in(&site.tenant, "ben@acme.example", Role::Member);
        let known = site.polled(&stream, &[]).len();
        end(&person.id);
        end(&other.id);
        let claims = site.polled(&stream, &[]);
        assert_eq!(claims.len(), known + 1);
        let revoked = claims.last().unwrap();
        assert_eq!(revoked["sub_id"], json!({ "format": "email", "email": "ben@acme.example" }));
        assert_eq!(event(revoked).1["initiating_entity"], "admin");
    });
}

#[test]
fn events_name_an_account_by_its_address_at_that_time() {
    on_both(|server| {
        let site = Site::with(server, "acme", &json!({ "subjectFormat": "EMAIL" }));
        let stream = site.stream(&json!({}));
        let user = site.create_user("ada@example.com");
        let path = format!("/api/scim/v2/Users/{user}");
        let replace = |name: &str, value: Value| {
            let operations = json!([{ "op": "replace", "path": name, "value": value }]);
            assert_eq!(site.tenant.scim.operations(&path, &operations).status, 200);
        };
        replace("active", json!(false));
        replace("userName", json!("augusta@example.com"));
        replace("active", json!(true));
        assert_eq!(site.tenant.scim.delete(&path).status, 204);
        let claims = site.polled(&stream, &[]);
        let address = |kind: &str| {
            let found = claims.iter().find(|claims| event(claims).0 == kind);
            found.unwrap()["sub_id"]["email"].clone()
        };
        let addresses = ["account-disabled", "account-enabled", "account-purged"].map(address);
        assert_eq!(addresses, ["ada@example.com", "augusta@example.com", "augusta@example.com"]);
    });
}

#[test]
fn events_that_the_receiver_may_not_have_any_more_are_not_delivered() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let stream = site.stream(&json!({}));
        let user = site.create_user("ada");
        assert_eq!(site.tenant.scim.delete(&format!("/api/scim/v2/Users/{user}")).status, 204);
        let purged = "https://schemas.openid.net/secevent/risc/event-type/account-purged";
        let changed = site.admin.send("PATCH", &site.path, Some(&json!({ "eventTypes": [purged] })));
        assert_eq!(changed.status, 200, "{}", changed.text);
        assert_eq!(types(&site.polled(&stream, &[])), ["account-purged"]);
    });
}

#[test]
fn events_are_pushed_in_order_and_again_after_a_failure() {
    on_both(|server| {
        let (site, sink) = (Site::new(server, "acme"), Sink::start());
        sink.answers("/set", 500, "", "");
        let stream = pushing(&site, &sink, "/set");
        let first = site.create_user("ada");
        sink.await_received("/set", 1);
        let failing = || site.admin.get(&site.path).json()["stream"].clone();
        eventually(|| failing()["problem"]["code"] == "REFUSED");
        assert_eq!((&failing()["problem"]["status"], &failing()["pending"]), (&json!(500), &json!(1)));
        let second = site.create_user("ben");
        sink.answers("/set", 202, "", "");
        server.env.advance(Duration::from_secs(5));
        let received = sink.await_received("/set", 3);
        eventually(|| failing()["pending"] == 0);
        assert_eq!(failing()["problem"], Value::Null);
        let claims: Vec<_> = received.iter().map(|request| site.verified(&request.body)).collect();
        assert_eq!(claims[0], claims[1], "the same token again");
        let ids: Vec<_> = claims[1..].iter().map(|claims| claims["sub_id"]["id"].clone()).collect();
        assert_eq!(ids, [first, second]);
        assert_eq!(received[0].header("content-type"), "application/secevent+jwt");
        assert_eq!(received[0].header("authorization"), "Bearer secret");
        // A token that the receiver cannot read is not repeated; others are.
        sink.answers("/set", 400, "", r#"{"err":"invalid_request","description":"unknown"}"#);
        site.create_user("cid");
        eventually(|| failing()["pending"] == 0 && sink.received("/set").len() == 4);
        sink.answers("/set", 400, "", r#"{"err":"invalid_key"}"#);
        site.create_user("dora");
        eventually(|| failing()["problem"]["error"] == "invalid_key");
        // Another URL takes effect at once, without the header.
        let moved = json!({ "stream_id": stream["stream_id"], "delivery": { "method": "urn:ietf:rfc:8935", "endpoint_url": sink.url("/new") } });
        assert_eq!(
            site.receiver
                .send("PATCH", "/api/ssf/stream", Some("application/json"), &moved.to_string())
                .status,
            200
        );
        assert_eq!(sink.await_received("/new", 1)[0].header("authorization"), "");
    });
}

#[test]
fn status_and_subjects_decide_what_is_delivered() {
    on_both(|server| {
        let (site, sink) = (Site::new(server, "acme"), Sink::start());
        let stream = pushing(&site, &sink, "/set");
        let id = &stream["stream_id"];
        let status = |status: &str| {
            let set = json!({ "stream_id": id, "status": status });
            assert_eq!(post(&site.receiver, "/api/ssf/status", &set).status, 200);
        };
        status("paused");
        site.create_user("ada@example.com");
        // Nothing arrives until the stream is enabled, also no verification.
        let verify = json!({ "stream_id": id, "state": "abc" });
        assert_eq!(post(&site.receiver, "/api/ssf/verify", &verify).status, 204);
        let again = post(&site.receiver, "/api/ssf/verify", &verify);
        assert_eq!((again.status, again.header("retry-after")), (429, "10"));
        assert_eq!(site.admin.get(&site.path).json()["stream"]["pending"], 2);
        status("enabled");
        let received = sink.await_received("/set", 2);
        let kinds: Vec<_> = received.iter().map(|request| event(&site.verified(&request.body)).0).collect();
        assert_eq!(kinds, ["prov:create:notice", "verification"]);
        let claims = site.verified(&received[1].body);
        assert_eq!(event(&claims).1, json!({ "state": "abc" }));
        assert_eq!(claims["sub_id"], json!({ "format": "opaque", "id": id }));
        // Without the removed user, whom an unknown one does not reveal.
        let subject =
            |email: &str| json!({ "stream_id": id, "subject": { "format": "email", "email": email } });
        let remove = |email: &str| post(&site.receiver, "/api/ssf/subjects/remove", &subject(email)).status;
        assert_eq!((remove("ada@example.com"), remove("nobody@example.com")), (204, 204));
        let found =
            site.tenant.scim.get("/api/scim/v2/Users?filter=userName%20eq%20%22ada%40example.com%22").json();
        let ada = format!("/api/scim/v2/Users/{}", found["Resources"][0]["id"].as_str().unwrap());
        let title = |to: &str| {
            site.tenant.scim.operations(&ada, &json!([{ "op": "replace", "path": "title", "value": to }]))
        };
        assert_eq!(title("Countess").status, 200);
        site.create_user("ben");
        let claims = site.verified(&sink.await_received("/set", 3)[2].body);
        assert_eq!(event(&claims).0, "prov:create:notice");
        assert_eq!(post(&site.receiver, "/api/ssf/subjects/add", &subject("ada@example.com")).status, 200);
        assert_eq!(title("Lady").status, 200);
        let claims = site.verified(&sink.await_received("/set", 4)[3].body);
        assert_eq!(event(&claims).0, "prov:patch:notice");
        // A disabled stream has no events, also later.
        status("disabled");
        site.create_user("cid");
        status("enabled");
        site.create_user("dora");
        let claims = site.verified(&sink.await_received("/set", 5)[4].body);
        let dora =
            site.tenant.scim.get(&format!("/api/scim/v2{}", claims["sub_id"]["uri"].as_str().unwrap()));
        assert_eq!(dora.json()["userName"], "dora");
    });
}

#[test]
fn disabled_receiver_is_notified_and_receives_nothing() {
    on_both(|server| {
        let (site, sink) = (Site::new(server, "acme"), Sink::start());
        let stream = pushing(&site, &sink, "/set");
        let enable = |enabled: bool| {
            let changed = site.admin.send("PATCH", &site.path, Some(&json!({ "enabled": enabled })));
            assert_eq!(changed.status, 200, "{}", changed.text);
        };
        enable(false);
        let claims = site.verified(&sink.await_received("/set", 1)[0].body);
        assert_eq!(
            (event(&claims).0.as_str(), &event(&claims).1["status"]),
            ("stream-updated", &json!("disabled"))
        );
        let set = json!({ "stream_id": stream["stream_id"], "status": "enabled" });
        let refused = post(&site.receiver, "/api/ssf/status", &set);
        assert_eq!((refused.status, &refused.json()["reason"]), (403, &json!("RECEIVER_DISABLED")));
        site.create_user("ada");
        enable(true);
        site.create_user("ben");
        let received = sink.await_received("/set", 3);
        let kinds: Vec<_> = received.iter().map(|request| event(&site.verified(&request.body)).0).collect();
        assert_eq!(kinds, ["stream-updated", "stream-updated", "prov:create:notice"]);
    });
}
