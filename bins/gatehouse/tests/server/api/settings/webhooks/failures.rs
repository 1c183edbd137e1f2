//! Failing webhooks, and who gets a message about them.

use std::time::Duration;

use serde_json::{Value, json};
use store::testing::Kind;

use super::{admin, create_user, subscribe};
use crate::support::{MailServer, Server, Sink, eventually, on_both};

#[test]
fn webhook_is_disabled_after_410_and_others_are_notified() {
    on_both(|server| {
        let ((tenant, browser), sink) = (admin(server, "acme"), Sink::start());
        let (path, _) = subscribe(&browser, &sink.url("/gone"), &["ACCOUNT_USER_CREATED"]);
        subscribe(&browser, &sink.url("/watch"), &["ACCOUNT_WEBHOOK_DISABLED"]);
        sink.answers("/gone", 410, "", "");
        create_user(&tenant, "bob@example.com");
        let event = sink.await_received("/watch", 1).remove(0).json();
        assert_eq!(
            (&event["data"], &event["actor"]["type"]),
            (&json!({ "reason": "GONE" }), &json!("SYSTEM"))
        );
        let shown = browser.get(&path).json();
        assert_eq!((&shown["enabled"], &shown["disabledReason"]), (&json!(false), &json!("GONE")));
        assert_eq!(server.entry(&tenant, "ACCOUNT_WEBHOOK_DISABLED").actor_id, "webhooks");
        create_user(&tenant, "eve@example.com");
        let delivery = browser.get(&format!("{path}/deliveries")).json()["deliveries"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        for refused in [
            browser.send("POST", &format!("{path}/deliveries/{delivery}/retry"), None),
            browser.post(&format!("{path}/replay"), &json!({ "from": "2026-01-01T00:00:00Z" })),
        ] {
            assert_eq!(
                (refused.status, &refused.json()["code"]),
                (409, &json!("CONFLICT")),
                "{}",
                refused.text
            );
        }
        // Events from meanwhile can be replayed once the receiver is back.
        sink.answers("/gone", 200, "", "");
        let on = browser.send("PATCH", &path, Some(&json!({ "enabled": true })));
        assert_eq!((&on.json()["enabled"], on.json().get("disabledReason")), (&json!(true), None));
        let replayed = browser.post(&format!("{path}/replay"), &json!({ "from": "2026-01-01T00:00:00Z" }));
        assert_eq!(replayed.json(), json!({ "replayed": 2 }), "{}", replayed.text);
        let events = sink.await_received("/gone", 3);
        let (first, again) = (events[0].header("x-service-event-id"), &events[1..]);
        assert!(
            again.iter().any(|one| one.header("x-service-event-id") == first),
            "the event ID is the same"
        );
        let early = browser.post(&format!("{path}/replay"), &json!({ "from": "2999-01-01T00:00:00Z" }));
        assert!(early.json()["error"].as_str().unwrap().starts_with("from"), "{}", early.text);
    });
}

#[test]
fn administrators_get_a_message_when_a_webhook_fails_for_an_hour_and_when_it_is_disabled() {
    let (mail, sink) = (MailServer::start(), Sink::start());
    for kind in Kind::ALL {
        let smtp_url = format!("smtp://{}", mail.address);
        let server = Server::start(kind, &[("smtp_url", &smtp_url)]);
        let (tenant, browser) = admin(&server, "acme");
        let (path, _) = subscribe(&browser, &sink.url("/in"), &["ACCOUNT_USER_CREATED"]);
        let message = |subject: &str| {
            let message = mail.mail.recv_timeout(Duration::from_secs(30)).unwrap();
            let message = message.replace("=\r\n", "").replace("=\n", "").replace("=3D", "=");
            let id = path.rsplit('/').next().unwrap();
            let page = format!("/settings/webhooks?id={id}");
            for expected in [&format!("Subject: {subject}"), "To: admin@acme.example", "webhook test", &page]
            {
                assert!(message.contains(expected), "{expected}\n{message}");
            }
        };
        sink.answers("/in", 503, "", "");
        create_user(&tenant, "bob@example.com");
        eventually(|| {
            let list = browser.get(&format!("{path}/deliveries")).json()["deliveries"].clone();
            list.as_array().unwrap().iter().any(|delivery| delivery["httpStatus"] == 503)
        });
        server.env.advance(Duration::from_hours(1));
        // An instance looks when it starts.
        server.second_with(&[("smtp_url", &smtp_url)], |_| message("A webhook fails"));
        let entry = server.entry(&tenant, "ACCOUNT_WEBHOOK_FAILING");
        assert_eq!((entry.actor_id.as_str(), path.ends_with(&entry.resource_id)), ("webhooks", true));
        let data: Value = serde_json::from_str(&entry.metadata).unwrap();
        let (since, end) = (&data["failingSince"], &data["disabledAfter"]);
        let time = |time: &Value| time.as_str().unwrap().parse::<kernel::Timestamp>().unwrap().unix_millis();
        assert_eq!(time(end) - time(since), 5 * 24 * 3_600_000);
        sink.answers("/in", 410, "", "");
        create_user(&tenant, "eve@example.com");
        message("A webhook was disabled");
        assert_eq!(server.entry(&tenant, "ACCOUNT_WEBHOOK_DISABLED").resource_id, entry.resource_id);
    }
}
