//! Signatures of deliveries, and their keys.

use std::time::Duration;

use data_encoding::BASE64;
use ring::hmac;
use serde_json::{Value, json};

use super::{admin, create_user, signature, subscribe};
use crate::support::{Received, Sink, eventually, on_both};

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
