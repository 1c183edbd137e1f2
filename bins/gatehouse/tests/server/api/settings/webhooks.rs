//! Webhooks, from the configuration to the receiver.

use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use directory::Role;
use ring::hmac;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Browser, MailServer, Received, Server, Sink, Tenant, eventually, on_both};

const WEBHOOKS: &str = "/api/settings/webhooks";

fn admin(server: &Server, slug: &str) -> (Tenant, Browser) {
    let tenant = server.tenant(slug);
    let (_, browser) = server.signed_in(&tenant, &format!("admin@{slug}.example"), Role::Admin);
    (tenant, browser)
}

/// Creates a webhook. Returns its path and secret.
fn subscribe(browser: &Browser, url: &str, filters: &[&str]) -> (String, String) {
    let made = browser.post(WEBHOOKS, &json!({ "name": "test", "url": url, "eventFilters": filters }));
    assert_eq!(made.status, 200, "{}", made.text);
    let made = made.json();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (format!("{WEBHOOKS}/{}", text("id")), text("secret"))
}

fn create_user(tenant: &Tenant, name: &str) -> String {
    let made = tenant.scim.post("/api/scim/v2/Users", &json!({ "userName": name }));
    assert_eq!(made.status, 201, "{}", made.text);
    made.json()["id"].as_str().unwrap().to_owned()
}

/// Computes `v1=` and the hexadecimal HMAC of section 5.2 independently.
fn signature(secret: &str, received: &Received) -> String {
    let message = format!("{}.{}", received.header("x-service-timestamp"), received.body);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    format!("v1={}", HEXLOWER.encode(hmac::sign(&key, message.as_bytes()).as_ref()))
}

fn standard(secret: &str, received: &Received) -> String {
    let bytes = BASE64.decode(secret.strip_prefix("whsec_").unwrap().as_bytes()).unwrap();
    let (id, time) = (received.header("webhook-id"), received.header("webhook-timestamp"));
    let message = format!("{id}.{time}.{}", received.body);
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &bytes), message.as_bytes());
    format!("v1,{}", BASE64.encode(tag.as_ref()))
}

/// Returns the shared signatures of `webhook-signature` (`v1`), which come first.
fn shared(received: &Received) -> String {
    let values = received.header("webhook-signature").split(' ').take_while(|value| value.starts_with("v1,"));
    values.collect::<Vec<_>>().join(" ")
}

/// Returns whether this public key verifies an asymmetric signature of a delivery.
fn verifies(key: &Value, received: &Received) -> bool {
    let key = key.as_str().unwrap().parse().unwrap();
    let (id, time) = (received.header("webhook-id"), received.header("webhook-timestamp"));
    let (signatures, body) = (received.header("webhook-signature"), received.body.as_bytes());
    let now = time.parse().unwrap();
    webhooks::verify::verify_asymmetric(&[key], id, time, signatures, body, now).is_ok()
}

#[test]
fn webhook_is_created_changed_and_removed() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        assert_eq!(browser.get(WEBHOOKS).json(), json!({ "subscriptions": [] }));
        let new = json!({ "name": "CI", "url": "http://127.0.0.1:9/in?x=1", "eventFilters": ["ACCOUNT_STEPUP_*", "NOPE_*"] });
        let made = browser.post(WEBHOOKS, &new);
        assert_eq!((made.status, made.header("cache-control")), (200, "no-store"));
        let made = made.json();
        assert!(made["id"].as_str().unwrap().starts_with("whk_"));
        let secret = made["secret"].as_str().unwrap();
        assert_eq!(BASE64.decode(secret.strip_prefix("whsec_").unwrap().as_bytes()).unwrap().len(), 32);
        assert_eq!(made["warnings"], json!(["eventFilters: NOPE_* matches no existing event type"]));
        let names: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
        let shape = [
            "id",
            "name",
            "url",
            "eventFilters",
            "ordered",
            "enabled",
            "createdAt",
            "updatedAt",
            "publicKeys",
            "secret",
            "warnings",
        ];
        assert_eq!(names, shape);
        let path = format!("{WEBHOOKS}/{}", made["id"].as_str().unwrap());
        let shown = browser.get(&path).json();
        assert_eq!((shown.get("secret"), &shown["url"]), (None, &json!("http://127.0.0.1:9/in?x=1")));
        assert!(browser.get(WEBHOOKS).json()["subscriptions"][0].get("secret").is_none());
        let changed = browser.send(
            "PATCH",
            &path,
            Some(&json!({ "name": "CD", "eventFilters": [], "enabled": false })),
        );
        assert_eq!(changed.status, 200, "{}", changed.text);
        assert_eq!(changed.json()["eventFilters"], json!(["*"]));
        assert_eq!((&changed.json()["enabled"], changed.json().get("disabledReason")), (&json!(false), None));
        let before = server.entries(&tenant).len();
        let same = browser.send("PATCH", &path, Some(&json!({ "name": "CD" })));
        assert_eq!((same.status, server.entries(&tenant).len()), (200, before), "nothing changed");
        let entry = server.entry(&tenant, "ACCOUNT_WEBHOOK_UPDATED");
        assert_eq!(entry.metadata, r#"{"changed":["name","eventFilters","enabled"]}"#);
        assert_eq!(browser.delete(&path).json(), json!({ "deleted": true }));
        for gone in [browser.delete(&path), browser.get(&path), browser.get(&format!("{path}/deliveries"))] {
            assert_eq!(gone.status, 404, "{}", gone.text);
        }
        server.entry(&tenant, "ACCOUNT_WEBHOOK_DELETED");
    });
}

#[test]
fn errors_name_the_invalid_field() {
    let server = Server::start(
        Kind::Sqlite,
        &[("webhooks_allow_cidrs", "192.0.2.1"), ("webhooks_allow_http", "false")],
    );
    let (_, browser) = admin(&server, "acme");
    let mut errors = Vec::new();
    let long = "A".repeat(129);
    for (field, value) in [
        ("name", json!("")),
        ("name", json!("a\u{7}b")),
        ("url", json!("http://hooks.example.com/")),
        ("url", json!("https://me:secret@hooks.example.com/")),
        ("url", json!("https://127.0.0.1/")),
        ("url", json!("https://0x7f.1/")),
        ("url", json!("https://[::ffff:169.254.169.254]/")),
        ("url", json!("ftp://hooks.example.com/")),
        ("url", json!("nonsense")),
        ("eventFilters", json!(["ACCOUNT_*", "ACCOUNT-USER"])),
        ("eventFilters", json!([long])),
        ("eventFilters", json!(vec!["*"; 51])),
        ("eventFilters", json!("ACCOUNT_*")),
        ("colour", json!("red")),
    ] {
        let mut new = json!({ "name": "test", "url": "https://hooks.example.com/" });
        new[field] = value;
        let answer = browser.post(WEBHOOKS, &new);
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (400, &json!("INVALID_REQUEST")),
            "{new}: {}",
            answer.text
        );
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with(field) || field == "colour", "{error}");
        errors.push(error);
    }
    insta::assert_snapshot!(errors.join("\n"), @r#"
    name: write 1 to 100 printable characters, no space at either end
    name: write 1 to 100 printable characters, no space at either end
    url: http:// is not encrypted; the URL has to begin with https://
    url: the URL contains a user name or password; remove everything up to the @
    url: deliveries go to public addresses only
    url: deliveries go to public addresses only
    url: deliveries go to public addresses only
    url: the URL has to begin with https://
    url: this is not a URL (relative URL without a base); write it like https://example.com/path
    eventFilters[1]: write 1 to 128 characters of A-Z, a-z, 0-9, _, . and *
    eventFilters[0]: write 1 to 128 characters of A-Z, a-z, 0-9, _, . and *
    eventFilters: write at most 50 filters
    eventFilters: invalid type: string "ACCOUNT_*", expected a sequence
    colour: unknown field `colour`, expected one of `name`, `url`, `eventFilters`, `ordered`
    "#);
    // The operator allows this range.
    subscribe(&browser, "https://192.0.2.1/", &[]);
    for number in 1..100 {
        subscribe(&browser, &format!("https://hooks.example.com/{number}"), &["NOPE"]);
    }
    let many = browser.post(WEBHOOKS, &json!({ "name": "test", "url": "https://hooks.example.com/" }));
    assert_eq!((many.status, &many.json()["code"]), (409, &json!("CONFLICT")), "{}", many.text);
}

#[test]
fn event_is_delivered_with_a_signature() {
    on_both(|server| {
        let ((tenant, browser), sink) = (admin(server, "acme"), Sink::start());
        let (other, stranger) = admin(server, "globex");
        let (path, secret) = subscribe(&browser, &sink.url("/users"), &["ACCOUNT_USER_*"]);
        subscribe(&browser, &sink.url("/groups"), &["ACCOUNT_GROUP_*"]);
        subscribe(&stranger, &sink.url("/stranger"), &["ACCOUNT_USER_*"]);
        let user = create_user(&tenant, "bob@example.com");
        let received = sink.await_received("/users", 1).remove(0);
        let entry = server.entries(&tenant).into_iter().find(|entry| entry.resource_id == user).unwrap();
        let event_id = entry.id.replace("aud_", "evt_");
        assert_eq!(
            received.json(),
            json!({
                "id": event_id,
                "type": "ACCOUNT_USER_CREATED",
                "createdAt": entry.timestamp,
                "tenantId": tenant.id,
                "actor": { "id": entry.actor_id, "type": "SCIM" },
                "resource": { "type": "user", "id": user },
                "data": { "active": true, "role": "MEMBER", "fields": ["userName"] },
            })
        );
        assert_eq!(received.header("content-type"), "application/json");
        assert_eq!(received.header("user-agent"), concat!("Gatehouse/", env!("CARGO_PKG_VERSION")));
        assert_eq!(received.header("x-service-event-id"), event_id);
        assert_eq!(received.header("x-service-event-type"), "ACCOUNT_USER_CREATED");
        assert_eq!(received.header("x-service-signature"), signature(&secret, &received));
        assert_eq!(shared(&received), standard(&secret, &received));
        assert_eq!(received.header("webhook-id"), event_id);
        assert_eq!(received.header("webhook-timestamp"), received.header("x-service-timestamp"));
        assert!(!received.headers.contains_key("x-service-signature-next"));
        let webhook = browser.get(&path).json();
        assert!(verifies(&webhook["publicKeys"][0], &received), "{}", received.header("webhook-signature"));
        let now = kernel::Env::now(&*server.env).unix_millis() / 1000;
        let timestamp = received.header("x-service-timestamp");
        let verified = webhooks::verify::verify(
            &webhooks::verify::ReceiverSecrets::new([&secret]).unwrap(),
            timestamp,
            received.header("x-service-signature"),
            received.body.as_bytes(),
            now,
        );
        assert_eq!(verified, Ok(()));
        eventually(|| {
            browser.get(&format!("{path}/deliveries")).json()["deliveries"][0]["status"] == "SUCCEEDED"
        });
        let listed = browser.get(&format!("{path}/deliveries")).json()["deliveries"][0].clone();
        assert_eq!(
            (&listed["attempt"], &listed["final"], &listed["httpStatus"]),
            (&json!(1), &json!(true), &json!(204))
        );
        let payload = format!("{path}/deliveries/{}/payload", listed["id"].as_str().unwrap());
        assert_eq!(browser.get(&payload).json()["payload"], json!(received.body));
        assert!(sink.received("/groups").is_empty() && sink.received("/stranger").is_empty());
        create_user(&other, "eve@example.com");
        assert_eq!(sink.await_received("/stranger", 1).len(), 1);
        assert_eq!(sink.received("/users").len(), 1);
    });
}

#[test]
fn public_keys_of_a_webhook_are_public() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let (other, _) = admin(server, "globex");
        let (path, _) = subscribe(&browser, "https://hooks.example.com/in", &["*"]);
        let id = path.rsplit('/').next().unwrap();
        let keys = server.anonymous().get(&format!("/.well-known/webhooks/{}/{id}", tenant.id));
        assert_eq!((keys.status, keys.header("cache-control")), (200, "max-age=300"), "{}", keys.text);
        let key = keys.json()["keys"][0].clone();
        assert_eq!(
            (&key["kty"], &key["crv"], &key["alg"], &key["use"]),
            (&json!("OKP"), &json!("Ed25519"), &json!("EdDSA"), &json!("sig"))
        );
        let shown = browser.get(&path).json()["publicKeys"][0].clone();
        let bytes = BASE64.decode(shown.as_str().unwrap().trim_start_matches("whpk_").as_bytes()).unwrap();
        assert_eq!(key["x"], json!(data_encoding::BASE64URL_NOPAD.encode(&bytes)));
        for unknown in [
            format!("{}/{id}", other.id),
            format!("{}/whk_06h1sv6snjrscj4v5dmq4keff4", tenant.id),
            format!("{}/nonsense", tenant.id),
            format!("nonsense/{id}"),
        ] {
            let answer = server.anonymous().get(&format!("/.well-known/webhooks/{unknown}"));
            assert_eq!((answer.status, &answer.json()["code"]), (404, &json!("NOT_FOUND")), "{unknown}");
        }
    });
}

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
fn both_secrets_verify_during_a_rotation() {
    on_both(|server| {
        let ((tenant, browser), sink) = (admin(server, "acme"), Sink::start());
        let (path, old) = subscribe(&browser, &sink.url("/in"), &["ACCOUNT_USER_CREATED"]);
        let rotate = format!("{path}/rotate-secret");
        let asked = browser.post(&rotate, &json!({}));
        assert_eq!((asked.status, &asked.json()["purpose"]), (401, &json!("WEBHOOK_SECRET_ROTATE")));
        let far =
            server.proved(&browser, "WEBHOOK_SECRET_ROTATE").post(&rotate, &json!({ "overlapHours": 169 }));
        assert_eq!(
            (far.status, far.json()["error"].as_str().unwrap().starts_with("overlapHours")),
            (400, true)
        );
        let proved = server.proved(&browser, "WEBHOOK_SECRET_ROTATE");
        let rotated = proved.send("POST", &rotate, None);
        assert_eq!(rotated.status, 200, "{}", rotated.text);
        let new = rotated.json()["secret"].as_str().unwrap().to_owned();
        assert_ne!(new, old);
        assert!(rotated.json()["rotatingUntil"].is_string());
        let again = server.proved(&browser, "WEBHOOK_SECRET_ROTATE").post(&rotate, &json!({}));
        assert_eq!((again.status, &again.json()["code"]), (409, &json!("CONFLICT")));
        create_user(&tenant, "one@example.com");
        let received = sink.await_received("/in", 1).remove(0);
        assert_eq!(received.header("x-service-signature"), signature(&old, &received));
        assert_eq!(received.header("x-service-signature-next"), signature(&new, &received));
        let both = format!("{} {}", standard(&old, &received), standard(&new, &received));
        assert_eq!(shared(&received), both);
        let during = browser.get(&path).json()["publicKeys"].clone();
        assert!(verifies(&during[0], &received) && verifies(&during[1], &received), "{during}");
        let complete = format!("{path}/rotate-secret/complete");
        let completed = server.proved(&browser, "WEBHOOK_SECRET_ROTATE").send("POST", &complete, None);
        assert_eq!(
            (completed.status, completed.json().get("rotatingUntil")),
            (200, None),
            "{}",
            completed.text
        );
        create_user(&tenant, "two@example.com");
        let received = sink.await_received("/in", 2).remove(1);
        assert_eq!(received.header("x-service-signature"), signature(&new, &received));
        assert!(!received.headers.contains_key("x-service-signature-next"));
        let nothing = server.proved(&browser, "WEBHOOK_SECRET_ROTATE").send("POST", &complete, None);
        assert_eq!(nothing.status, 409);
        // A rotation that ends when its overlap expires.
        let third =
            server.proved(&browser, "WEBHOOK_SECRET_ROTATE").post(&rotate, &json!({ "overlapHours": 1 }));
        let third = third.json()["secret"].as_str().unwrap().to_owned();
        server.env.advance(Duration::from_hours(1));
        create_user(&tenant, "three@example.com");
        let received = sink.await_received("/in", 3).remove(2);
        assert_eq!(received.header("x-service-signature"), signature(&third, &received));
        // A rotation without overlap, because the secret has leaked.
        let proved = server.proved(&browser, "WEBHOOK_SECRET_ROTATE");
        let fourth =
            proved.post(&rotate, &json!({ "overlapHours": 0 })).json()["secret"].as_str().unwrap().to_owned();
        create_user(&tenant, "four@example.com");
        let received = sink.await_received("/in", 4).remove(3);
        assert_eq!(received.header("x-service-signature"), signature(&fourth, &received));
        assert_eq!(shared(&received), standard(&fourth, &received));
        let last = browser.get(&path).json()["publicKeys"].clone();
        assert_eq!(last.as_array().map(Vec::len), Some(1));
        assert!(verifies(&last[0], &received) && !verifies(&during[0], &received));
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
