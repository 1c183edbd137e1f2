//! Tokens that are refused.

use std::time::Duration;

use directory::Role;
use kernel::Env;
use oidc_rp::{Algorithm, conformance::Signer};
use serde_json::{Value, json};

use super::{
    Site,
    transmitter::{add, body, post_as},
};
use crate::support::{Answer, Responds, on_both};

#[test]
fn hostile_tokens_have_no_effect() {
    on_both(|server| {
        let site = Site::new(server, &json!({ "sessionRevoked": "END_SESSIONS" }));
        server.person(&site.oidc.tenant, "ada@corp.example", Role::Member);
        let ada = site.signed_in(server, "ada@corp.example", "s1");
        let now = server.env.now();
        let sound = site.claims("e1", "session-revoked", &site.user("ada@corp.example"), now);
        let bent = |name: &str, value: Value| {
            let mut claims = sound.clone();
            claims[name] = value;
            site.token(&claims)
        };
        let refused = |answer: Answer, err: &str, reason: &str| {
            assert_eq!(
                (answer.status, &answer.json()["err"]),
                (400, &json!(err)),
                "{reason}: {}",
                answer.text
            );
            assert_eq!(answer.header("content-type"), "application/json");
            assert!(answer.json()["description"].is_string() && !answer.text.contains(reason));
            let refusals = site.refusals(server);
            assert!(refusals.iter().any(|entry| entry["reason"] == reason), "{reason}: {refusals:?}");
            assert_eq!(ada.get("/api/me").status, 200, "{reason}");
        };
        let post = |token: &str| site.post(server, token);
        refused(post(&bent("iss", json!("https://evil.example"))), "invalid_issuer", "WRONG_ISSUER");
        refused(post(&bent("aud", json!("https://other.example"))), "invalid_audience", "WRONG_AUDIENCE");
        refused(post(&bent("exp", json!(9_999_999_999_i64))), "invalid_request", "EXP_PRESENT");
        refused(post(&bent("iat", json!(1))), "invalid_request", "ISSUED_TOO_LONG_AGO");
        refused(post(&bent("events", json!({}))), "invalid_request", "NO_EVENT");
        refused(post("nonsense"), "invalid_request", "NOT_A_SIGNED_JWT");
        let header = |kid: &str, kind: &str| json!({ "alg": "RS256", "kid": kid, "typ": kind });
        let own = || Signer::Own(Algorithm::RS256);
        let kind = site.sign(own(), &header("rsa", "JWT"), &sound);
        refused(post(&kind), "invalid_request", "WRONG_TOKEN_TYPE");
        // The key may have been replaced under its ID, so the keys are read again first.
        let forged = site.sign(Signer::Foreign, &header("rsa", "secevent+jwt"), &sound);
        let waits = post(&forged);
        // A second may pass between the two readings of the clock.
        let is_a_minute = ["59", "60"].contains(&waits.header("retry-after"));
        assert!(waits.status == 503 && is_a_minute, "{} {}", waits.status, waits.text);
        server.env.advance(Duration::from_mins(1));
        refused(post(&forged), "invalid_key", "SIGNATURE_INVALID");
        let nobody = json!({ "alg": "none", "typ": "secevent+jwt" });
        refused(post(&site.sign(Signer::Nobody, &nobody, &sound)), "invalid_key", "ALGORITHM_NOT_ALLOWED");

        // A verification event with a state that nobody requested.
        let mut verification =
            site.claims("v1", "verification", &json!({ "format": "opaque", "id": "s" }), now);
        let kind = super::transmitter::uri("verification");
        verification["events"][&kind] = json!({ "state": "another" });
        refused(post(&site.token(&verification)), "invalid_state", "STATE_DIFFERS");
        verification["events"][&kind] = json!({ "state": site.transmitter["verificationState"] });
        assert_eq!(post(&site.token(&verification)).status, 202);

        // Without the header, and with another one.
        let token = site.token(&sound);
        let without = post_as(server, &site.transmitter, None, &token);
        refused(without, "authentication_failed", "TRANSMITTER_NOT_AUTHENTICATED");
        let another = post_as(server, &site.transmitter, Some("Bearer push_nonsense"), &token);
        refused(another, "authentication_failed", "TRANSMITTER_NOT_AUTHENTICATED");

        // Another transmitter, a disabled one, and other types of content.
        let path =
            site.transmitter["endpointUrl"].as_str().unwrap().split_once("/api/").unwrap().1.to_owned();
        let unknown = format!("/api/{}", path.replace("/trm_", "/trm_0"));
        let kind = Some("application/secevent+jwt");
        assert_eq!(server.anonymous().send("POST", &unknown, kind, &token).status, 404);
        let json = server.anonymous().send("POST", &format!("/api/{path}"), Some("application/json"), &token);
        assert_eq!(json.status, 415, "{}", json.text);
        assert_eq!(site.post(server, &"x".repeat(64 * 1024 + 1)).status, 413);
        assert_eq!(site.change(server, &json!({ "enabled": false })).status, 200);
        refused(post(&token), "access_denied", "TRANSMITTER_NOT_ALLOWED");
        assert_eq!(site.change(server, &json!({ "enabled": true })).status, 200);
        assert_eq!(post(&token).status, 202);
        assert_eq!(ada.get("/api/me").status, 401);
    });
}

#[test]
fn transmitter_of_another_tenant_reaches_no_user() {
    on_both(|server| {
        let site = Site::new(server, &json!({ "sessionRevoked": "END_SESSIONS" }));
        server.person(&site.oidc.tenant, "ada@corp.example", Role::Member);
        let ada = site.signed_in(server, "ada@corp.example", "s1");
        // The same provider in another tenant, whose administrator is an attacker.
        let other = server.tenant("other");
        let (_, admin) = server.signed_in(&other, "admin@other.example", Role::Admin);
        let connection = crate::support::oidc_body(&site.oidc.provider, &["else.example"]);
        let id = crate::api::oidc::add(server, &admin, &connection)["id"].as_str().unwrap().to_owned();
        let mut new = body(&site.oidc, &json!({ "sessionRevoked": "END_SESSIONS" }));
        let refused = add(server, &admin, &new);
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.text.contains("connectionId: there is no such SSO connection"), "{}", refused.text);
        new["connectionId"] = json!(id);
        let theirs = add(server, &admin, &new).json();
        let now = server.env.now();
        for (jti, subject) in [
            ("e1", site.user("ada@corp.example")),
            ("e2", json!({ "format": "email", "email": "ada@corp.example" })),
            ("e3", json!({ "format": "opaque", "id": "s1" })),
        ] {
            let token = site.token(&site.claims(jti, "session-revoked", &subject, now));
            assert_eq!(post_as(server, &theirs, theirs["authorization"].as_str(), &token).status, 202);
        }
        assert_eq!(ada.get("/api/me").status, 200);
        // The path of a tenant with the transmitter of another.
        let mut mixed = theirs.clone();
        let url = theirs["endpointUrl"].as_str().unwrap();
        mixed["endpointUrl"] = json!(url.replace(&other.id.to_string(), &site.oidc.tenant.id.to_string()));
        let token = site.token(&site.claims("e4", "session-revoked", &site.user("ada@corp.example"), now));
        assert_eq!(post_as(server, &mixed, theirs["authorization"].as_str(), &token).status, 404);
        assert_eq!(admin.get(&site.settings()).status, 404);
    });
}

#[test]
fn keys_are_read_again_for_unknown_keys_and_once_a_day() {
    on_both(|server| {
        let site = Site::new(server, &json!({}));
        let subject = json!({ "format": "opaque", "id": "stream" });
        let reads = || site.oidc.provider.received("/keys").len();
        let before = reads();
        let with_new_key = |jti: &str| {
            let claims = site.claims(jti, "verification", &subject, server.env.now());
            let header = json!({ "alg": "RS256", "kid": "new", "typ": "secevent+jwt" });
            site.post(server, &site.sign(Signer::Foreign, &header, &claims)).status
        };
        server.env.advance(Duration::from_mins(2));
        assert_eq!((with_new_key("k1"), reads()), (400, before + 1));
        let keys = json!({ "keys": [site.oidc.provider.signer.foreign_key("new")] });
        site.oidc.provider.respond("/keys", Responds::json(&keys));
        assert_eq!(
            (with_new_key("k2"), reads()),
            (503, before + 1),
            "the keys were read within the last minute"
        );
        assert_eq!(site.refusals(server)[0]["reason"], "KEY_UNKNOWN");
        server.env.advance(Duration::from_secs(61));
        assert_eq!((with_new_key("k3"), reads()), (202, before + 2));
        assert_eq!((with_new_key("k4"), reads()), (202, before + 2));
        let changed = site.entries(server, "ACCOUNT_SIGNAL_TRANSMITTER_UPDATED");
        assert_eq!(changed[0]["changed"], json!(["keys"]));

        // A key that the transmitter has removed has no effect after a day.
        site.oidc.provider.respond("/keys", Responds::json(&json!({ "keys": [] })));
        server.env.advance(Duration::from_hours(25));
        assert_eq!((with_new_key("k5"), reads()), (202, before + 3), "a key set without keys cannot be used");
        let header = json!({ "alg": "RS256", "kid": "newest", "typ": "secevent+jwt" });
        let claims = site.claims("k7", "verification", &subject, server.env.now());
        let newest = site.post(server, &site.sign(Signer::Foreign, &header, &claims));
        assert_eq!((newest.status, newest.header("retry-after")), (503, "60"), "its key may be a new one");
        // The session of the first administrator has expired.
        let (_, admin) = server.signed_in(&site.oidc.tenant, "late@acme.example", Role::Admin);
        let shown = admin.get(&site.settings()).json();
        assert!(shown["keysProblem"].is_string(), "{shown}");
        let other = json!({ "keys": [site.oidc.provider.signer.foreign_key("other")] });
        site.oidc.provider.respond("/keys", Responds::json(&other));
        server.env.advance(Duration::from_secs(61));
        assert_eq!((with_new_key("k6"), reads()), (400, before + 4));
        assert_eq!(admin.get(&site.settings()).json().get("keysProblem"), None);
    });
}
