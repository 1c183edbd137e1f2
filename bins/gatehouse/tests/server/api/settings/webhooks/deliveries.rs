//! Deliveries, their order and their replay, tests of webhooks, and the addresses that are refused.

use std::time::Duration;

use serde_json::{Value, json};
use store::testing::Kind;

use super::{WEBHOOKS, admin, create_user, signature, subscribe};
use crate::support::{Received, Server, Sink, eventually, on_both};

#[test]
fn webhook_receives_no_events_about_itself_or_about_outcomes() {
    on_both(|server| {
        let ((tenant, browser), sink) = (admin(server, "acme"), Sink::start());
        let (one, _) = subscribe(&browser, &sink.url("/one"), &["*"]);
        let (two, _) = subscribe(&browser, &sink.url("/two"), &["*"]);
        let id = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        // The first webhook receives the events about the second, but none about itself. Outcomes cause no events.
        for path in [&one, &two] {
            browser.send("PATCH", path, Some(&json!({ "name": "other" })));
        }
        sink.await_received("/one", 2);
        sink.await_received("/two", 1);
        create_user(&tenant, "bob@example.com");
        sink.await_received("/one", 3);
        sink.await_received("/two", 2);
        eventually(|| {
            browser.get(&format!("{one}/deliveries")).json()["deliveries"][0]["status"] == "SUCCEEDED"
        });
        let about = |path: &str| -> Vec<String> {
            let all = sink.received(path);
            all.iter().map(|one| one.json()["resource"]["id"].as_str().unwrap().to_owned()).collect()
        };
        assert!(!about("/one").contains(&id(&one)) && !about("/two").contains(&id(&two)));
        let kinds: Vec<_> = sink.received("/one").iter().map(Received::kind).collect();
        assert_eq!(kinds, ["ACCOUNT_WEBHOOK_CREATED", "ACCOUNT_WEBHOOK_UPDATED", "ACCOUNT_USER_CREATED"]);
    });
}

#[test]
fn failed_delivery_is_listed_retried_and_can_be_replayed() {
    on_both(|server| {
        let ((tenant, browser), sink) = (admin(server, "acme"), Sink::start());
        let (path, _) = subscribe(&browser, &sink.url("/in"), &["ACCOUNT_USER_*"]);
        sink.answers("/in", 503, "retry-after: 1\r\n", &format!("{}ä", "x".repeat(5_000)));
        create_user(&tenant, "bob@example.com");
        sink.await_received("/in", 1);
        let list = || browser.get(&format!("{path}/deliveries")).json()["deliveries"].clone();
        eventually(|| list().as_array().unwrap().len() == 2);
        let (next, first) = (list()[0].clone(), list()[1].clone());
        assert_eq!(
            (&first["status"], &first["final"], &first["httpStatus"]),
            (&json!("FAILED"), &json!(false), &json!(503))
        );
        assert_eq!(first["responseBody"].as_str().unwrap().len(), 4096);
        assert_eq!(
            (&next["status"], &next["attempt"], &next["eventId"]),
            (&json!("PENDING"), &json!(2), &first["eventId"])
        );
        assert_eq!(next["nextAttemptAt"], first["nextAttemptAt"]);
        // The retry is due.
        server.env.advance(Duration::from_secs(7));
        let again = sink.await_received("/in", 2).remove(1);
        assert_eq!(again.header("x-service-event-id"), first["eventId"].as_str().unwrap());
        eventually(|| list().as_array().unwrap().len() == 3);
        // A replay does not wait for the third attempt. Any earlier attempt can be replayed.
        sink.answers("/in", 200, "", "thanks");
        let retried =
            browser.send("POST", &format!("{path}/deliveries/{}/retry", first["id"].as_str().unwrap()), None);
        assert_eq!((retried.status, &retried.json()["attempt"]), (200, &json!(3)), "{}", retried.text);
        sink.await_received("/in", 3);
        eventually(|| list()[0]["status"] == "SUCCEEDED");
        assert_eq!(list().as_array().unwrap().len(), 3, "the retry moved forward and was not duplicated");
        assert!(list()[1]["nextAttemptAt"].as_str() <= list()[0]["attemptedAt"].as_str(), "{}", list());
        let done = list()[0].clone();
        let once_more =
            browser.send("POST", &format!("{path}/deliveries/{}/retry", done["id"].as_str().unwrap()), None);
        assert_eq!(
            (&once_more.json()["attempt"], &once_more.json()["status"]),
            (&json!(4), &json!("PENDING"))
        );
        sink.await_received("/in", 4);
        server
            .entries(&tenant)
            .iter()
            .find(|entry| entry.action == "ACCOUNT_WEBHOOK_DELIVERY_RETRIED")
            .unwrap();
        eventually(|| {
            let hours = browser.get(&format!("{path}/activity")).json()["hours"].clone();
            let sum = |name: &str| {
                hours.as_array().unwrap().iter().map(|hour| hour[name].as_i64().unwrap()).sum::<i64>()
            };
            hours.as_array().unwrap().len() == 24 && (sum("succeeded"), sum("failed")) == (2, 2)
        });
    });
}

#[test]
fn webhook_test_returns_its_outcome_and_is_not_listed_as_delivery() {
    on_both(|server| {
        let ((_, browser), sink) = (admin(server, "acme"), Sink::start());
        let (path, secret) = subscribe(&browser, &sink.url("/in"), &["NOPE"]);
        sink.answers("/in", 418, "", "short and stout");
        let tested = browser.send("POST", &format!("{path}/test"), None);
        assert_eq!(tested.status, 200);
        let outcome = tested.json();
        assert_eq!(
            (&outcome["httpStatus"], &outcome["body"], outcome.get("error")),
            (&json!(418), &json!("short and stout"), None)
        );
        assert!(outcome["elapsedMs"].is_u64());
        let received = sink.received("/in").remove(0);
        assert_eq!(
            (received.kind().as_str(), &received.json()["data"]),
            ("service.webhook.test", &json!({}))
        );
        assert_eq!(received.header("x-service-signature"), signature(&secret, &received));
        assert_eq!(browser.get(&format!("{path}/deliveries")).json(), json!({ "deliveries": [] }));
        let (nobody, _) = subscribe(&browser, "http://127.0.0.1:9/", &[]);
        let refused = browser.send("POST", &format!("{nobody}/test"), None).json();
        assert_eq!(
            (&refused["error"], &refused["httpStatus"], &refused["body"]),
            (&json!("CONNECT"), &Value::Null, &Value::Null)
        );
        for _ in 0..8 {
            assert_eq!(browser.send("POST", &format!("{path}/test"), None).status, 200);
        }
        let limited = browser.send("POST", &format!("{path}/test"), None);
        assert_eq!((limited.status, &limited.json()["code"]), (429, &json!("RATE_LIMITED")));
        assert!(!limited.header("retry-after").is_empty());
    });
}

#[test]
fn private_addresses_are_blocked_in_tests_and_deliveries() {
    let server = Server::start(Kind::Sqlite, &[("webhooks_allow_cidrs", "192.0.2.1")]);
    let ((tenant, browser), sink) = (admin(&server, "acme"), Sink::start());
    // The address of a host name is known only after the DNS lookup.
    let (path, _) =
        subscribe(&browser, &format!("http://localhost:{}/in", sink.address.port()), &["ACCOUNT_USER_*"]);
    let tested = browser.send("POST", &format!("{path}/test"), None).json();
    assert_eq!(
        (&tested["error"], &tested["httpStatus"], &tested["body"]),
        (&json!("BLOCKED"), &Value::Null, &Value::Null)
    );
    create_user(&tenant, "bob@example.com");
    let first = || {
        let list = browser.get(&format!("{path}/deliveries")).json()["deliveries"].clone();
        list.as_array().unwrap().last().cloned().unwrap_or_default()
    };
    eventually(|| first()["status"] == "FAILED");
    assert_eq!((&first()["error"], first().get("responseBody")), (&json!("BLOCKED"), None));
    assert!(sink.received("/in").is_empty());
}

#[test]
fn two_instances_deliver_each_event_once() {
    on_both(|server| {
        let ((tenant, browser), sink) = (admin(server, "acme"), Sink::start());
        let (path, _) = subscribe(&browser, &sink.url("/in"), &["ACCOUNT_USER_*"]);
        server.second(|address| {
            let there = tenant.scim.at(address);
            for number in 0..40 {
                let by = if number % 2 == 0 { &there } else { &tenant.scim };
                let made =
                    by.post("/api/scim/v2/Users", &json!({ "userName": format!("u{number}@example.com") }));
                assert_eq!(made.status, 201, "{}", made.text);
            }
            sink.await_received("/in", 40);
            let done = || {
                let list = browser.get(&format!("{path}/deliveries")).json()["deliveries"].clone();
                list.as_array().unwrap().iter().filter(|one| one["status"] == "SUCCEEDED").count()
            };
            eventually(|| done() == 40);
            assert_eq!(sink.received("/in").len(), 40);
        });
    });
}

#[test]
fn ordered_webhook_delivers_the_events_of_a_user_in_order() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let sink = Sink::start();
        sink.answers("/in", 500, "", "");
        let new = json!({ "name": "ordered", "url": sink.url("/in"), "eventFilters": ["ACCOUNT_USER_*"], "ordered": true });
        let made = browser.post(WEBHOOKS, &new).json();
        assert_eq!(made["ordered"], true);
        let path = format!("{WEBHOOKS}/{}", made["id"].as_str().unwrap());
        let (ada, bob) = (create_user(&tenant, "ada@acme.example"), create_user(&tenant, "bob@acme.example"));
        sink.await_received("/in", 2);
        tenant.scim.delete(&format!("/api/scim/v2/Users/{ada}"));
        let waiting = || -> Vec<Value> {
            let listed = browser.get(&format!("{path}/deliveries")).json();
            let all = listed["deliveries"].as_array().unwrap();
            all.iter().filter(|one| one["waiting"] == true).cloned().collect()
        };
        eventually(|| waiting().len() == 1);
        let waiting = &waiting()[0];
        assert_eq!((&waiting["status"], waiting.get("nextAttemptAt")), (&json!("PENDING"), None));
        let again = browser
            .post(&format!("{path}/deliveries/{}/retry", waiting["id"].as_str().unwrap()), &json!({}))
            .json();
        assert_eq!(again["waiting"], true, "it is sent no earlier");
        sink.answers("/in", 204, "", "");
        let all = sink.await_received("/in", 5);
        let about = |user: &str| -> Vec<String> {
            let of_user = all.iter().filter(|one| one.json()["resource"]["id"] == *user);
            of_user.map(|one| one.json()["type"].as_str().unwrap().to_owned()).collect()
        };
        let (created, deleted) = ("ACCOUNT_USER_CREATED", "ACCOUNT_USER_DELETED");
        assert_eq!(about(&ada), [created, created, deleted]);
        assert_eq!(about(&bob), [created, created]);
    });
}
