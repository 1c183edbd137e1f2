//! Passkeys: enrolment, and use as a second factor and as both factors.

use std::time::Duration;

use credentials::FactorKind;
use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use super::enrolment::enrol_totp;
use crate::support::{Answer, Authenticator, Browser, Server, authenticator, code, on_both};

pub(crate) fn enrol(browser: &Browser, device: &mut Authenticator) -> Answer {
    let begun = browser.post("/api/me/factors/passkeys/options", &json!({}));
    assert_eq!(begun.status, 200, "{}", begun.text);
    let begun = begun.json();
    let credential = device.create(&begun["webauthn"]);
    let body = json!({ "challengeId": begun["challengeId"], "credential": credential, "name": "Laptop" });
    browser.post("/api/me/factors/passkeys/verify", &body)
}

pub(crate) fn first(browser: &Browser, device: &mut Authenticator) -> (Value, Answer) {
    let begun = browser.post("/api/auth/passkey/options", &json!({})).json();
    let body = json!({ "challengeId": begun["challengeId"], "credential": device.get(&begun["webauthn"]) });
    let answer = browser.post("/api/auth/passkey/verify", &body);
    (body, answer)
}

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

#[test]
fn passkey_signs_in_as_both_factors_or_as_the_second() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        server.policy(&tenant, |policy| policy.mfa.required = true);
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let browser = server.browser();
        assert_eq!(browser.sign_in(&ada.email, ada.password).json()["status"], "ENROLMENT_REQUIRED");
        let mut device = authenticator();
        device.aaguid = *b"\xfa\x2b\x99\xdc\x9e\x39\x42\x57\x8f\x92\x4a\x30\xd2\x3c\x41\x18";
        device.backup_eligible = true;
        let made = enrol(&browser, &mut device);
        assert_eq!(made.status, 200, "{}", made.text);
        let made = made.json();
        assert_eq!((&made["name"], &made["kind"]), (&json!("Laptop"), &json!("WEBAUTHN")));
        assert_eq!(made["aaguid"], "fa2b99dc-9e39-4257-8f92-4a30d23c4118");
        assert_eq!(made["backupEligible"], true);
        assert_eq!(browser.get("/api/me").status, 200, "the session is complete");

        let other = server.browser();
        let (body, answer) = first(&other, &mut device);
        assert_eq!(answer.json()["status"], "SIGNED_IN", "{}", answer.text);
        assert_eq!(other.get("/api/me").json()["id"], ada.id.as_str());
        is(&other.post("/api/auth/passkey/verify", &body), 401, "TICKET_INVALID");

        let third = server.browser();
        let asked = third.sign_in(&ada.email, ada.password).json();
        assert_eq!(asked["factors"], json!(["WEBAUTHN"]));
        let credential = device.get(&asked["webauthn"]);
        let body = json!({ "ticket": asked["ticket"], "factor": "WEBAUTHN", "credential": credential });
        assert_eq!(third.post("/api/auth/sign-in/verify", &body).json()["status"], "SIGNED_IN");
        is(&third.post("/api/auth/sign-in/verify", &body), 401, "TICKET_INVALID");
    });
}

/// Answers the offer of a passkey, as the browser does without asking the user.
fn accept(browser: &Browser, offer: &Value, device: &mut Authenticator, conditional: bool) -> Answer {
    let credential = device.create(&offer["webauthn"]);
    let body =
        json!({ "challengeId": offer["challengeId"], "credential": credential, "conditional": conditional });
    browser.post("/api/me/factors/passkeys/verify", &body)
}

#[test]
fn sign_in_with_a_code_offers_a_passkey_that_the_browser_creates_without_asking() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let mut device = authenticator();
        (device.asks, device.verifies) = (false, false);
        let signed_in = |query: &str, steps: i64| {
            let browser = server.browser();
            let asked = browser.sign_in(&ada.email, ada.password).json();
            let body =
                json!({ "ticket": asked["ticket"], "factor": "TOTP", "code": code(&secret, server, steps) });
            let answer = browser.post(&format!("/api/auth/sign-in/verify{query}"), &body).json();
            assert_eq!(answer["status"], "SIGNED_IN", "{answer}");
            (browser, answer["passkeyOffer"].clone())
        };
        let offers = "?offerPasskey=true";
        server.env.advance(Duration::from_mins(1));
        assert_eq!(signed_in("", 0).1, Value::Null, "the browser cannot create it");
        server.env.advance(Duration::from_mins(1));
        let (browser, offer) = signed_in(offers, 0);
        let session = browser.cookie("as_sid");
        is(&accept(&server.browser(), &offer, &mut device, true), 401, "UNAUTHENTICATED");
        is(&accept(&browser, &offer, &mut device, false), 401, "TICKET_INVALID");
        let made = accept(&browser, &offer, &mut device, true);
        assert_eq!(made.status, 200, "{}", made.text);
        assert_eq!(browser.cookie("as_sid"), session, "the session proves nothing by it");
        is(&accept(&browser, &offer, &mut device, true), 401, "TICKET_INVALID");
        let entries = server.entries(&tenant);
        let enrolled = entries.iter().filter(|entry| entry.action == "ACCOUNT_FACTOR_ENROLLED");
        assert_eq!(enrolled.filter(|entry| entry.metadata.contains("WEBAUTHN")).count(), 1);

        // The passkey works like others once the user is asked, and the code still works.
        (device.asks, device.verifies) = (true, true);
        assert_eq!(first(&server.browser(), &mut device).1.json()["status"], "SIGNED_IN");
        server.env.advance(Duration::from_mins(1));
        assert_eq!(signed_in(offers, 0).1, Value::Null, "there is a passkey already");
    });
}

#[test]
fn passkeys_created_without_asking_are_never_the_only_factor_and_obey_the_policies() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let begun = browser.post("/api/me/factors/passkeys/options", &json!({})).json();
        let mut device = authenticator();
        device.asks = false;
        is(&accept(&browser, &begun, &mut device, true), 401, "TICKET_INVALID");
        // Also beside a factor that was enrolled meanwhile: this ticket came without a proof.
        enrol_totp(server, &browser);
        is(&accept(&browser, &begun, &mut device, true), 401, "TICKET_INVALID");
        device.asks = true;
        is(&accept(&browser, &begun, &mut device, false), 401, "TICKET_INVALID");

        let (bob, browser) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let offer = |accepted: &'static [FactorKind]| {
            server.policy(&tenant, |policy| policy.mfa.accepted_factors = accepted.to_vec());
            server.env.advance(Duration::from_mins(1));
            let browser = server.browser();
            let asked = browser.sign_in(&bob.email, bob.password).json();
            let body =
                json!({ "ticket": asked["ticket"], "factor": "TOTP", "code": code(&secret, server, 0) });
            let answer = browser.post("/api/auth/sign-in/verify?offerPasskey=true", &body).json();
            assert_eq!(answer["status"], "SIGNED_IN", "{answer}");
            (browser, answer["passkeyOffer"].clone())
        };
        assert_eq!(offer(&[FactorKind::Totp]).1, Value::Null);
        assert_eq!(
            offer(&[FactorKind::Webauthn]).1,
            Value::Null,
            "bob could not sign in without the passkey"
        );
        let (browser, offered) = offer(&[FactorKind::Totp, FactorKind::Webauthn]);
        server.policy(&tenant, |policy| policy.mfa.accepted_factors = vec![FactorKind::Totp]);
        is(&accept(&browser, &offered, &mut device, true), 401, "FACTOR_INVALID");
    });
}

#[test]
fn invalid_authenticator_responses_are_refused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let mut device = authenticator();
        assert_eq!(enrol(&browser, &mut device).status, 200);
        is(&enrol(&server.proved(&browser, "ACCOUNT_SECURITY_CHANGE"), &mut device), 401, "FACTOR_INVALID");

        let mut elsewhere = device.origin.clone();
        std::mem::swap(&mut device.origin, &mut elsewhere);
        device.origin = "https://evil.example".into();
        is(&first(&server.browser(), &mut device).1, 401, "FACTOR_INVALID");
        device.origin = elsewhere;
        device.verifies = false;
        let invalid = first(&server.browser(), &mut device).1;
        is(&invalid, 401, "FACTOR_INVALID");
        assert_eq!(invalid.json().get("reason"), None, "the passkey is enrolled");
        device.verifies = true;
        device.counter = 0;
        is(&first(&server.browser(), &mut device).1, 401, "FACTOR_INVALID");
        device.counter = 100;
        assert_eq!(first(&server.browser(), &mut device).1.json()["status"], "SIGNED_IN");

        let mut stranger = authenticator();
        let begun = server
            .proved(&browser, "ACCOUNT_SECURITY_CHANGE")
            .post("/api/me/factors/passkeys/options", &json!({}))
            .json();
        stranger.create(&begun["webauthn"]);
        let unknown = first(&server.browser(), &mut stranger).1;
        is(&unknown, 401, "FACTOR_INVALID");
        assert_eq!(unknown.json()["reason"], "PASSKEY_UNKNOWN", "the browser can remove it");
        let begun = server.browser().post("/api/auth/passkey/options", &json!({})).json();
        let mut altered = begun["challengeId"].as_str().unwrap().to_owned();
        altered.replace_range(10..11, if altered.as_bytes()[10] == b'A' { "B" } else { "A" });
        let body = json!({ "challengeId": altered, "credential": device.get(&begun["webauthn"]) });
        is(&server.browser().post("/api/auth/passkey/verify", &body), 401, "TICKET_INVALID");
        server.env.advance(std::time::Duration::from_mins(5));
        let body =
            json!({ "challengeId": begun["challengeId"], "credential": device.get(&begun["webauthn"]) });
        is(&server.browser().post("/api/auth/passkey/verify", &body), 401, "TICKET_INVALID");
    });
}

#[test]
fn passkey_works_at_related_origins() {
    for kind in Kind::ALL {
        let server = Server::start(
            kind,
            &[("webauthn_related_origins", "https://app.example, https://other.example:8443")],
        );
        let listed = server.anonymous().get("/.well-known/webauthn");
        assert_eq!(listed.header("content-type"), "application/json");
        let mut device = authenticator();
        let expected =
            json!({ "origins": [device.origin, "https://app.example", "https://other.example:8443"] });
        assert_eq!(listed.json(), expected);
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        assert_eq!(enrol(&browser, &mut device).status, 200);
        for (origin, works) in [
            ("https://app.example", true),
            ("https://other.example:8443", true),
            ("https://other.example", false),
            ("https://sub.app.example", false),
            ("http://app.example", false),
        ] {
            device.origin = origin.into();
            let (_, answer) = first(&server.browser(), &mut device);
            assert_eq!(answer.status == 200, works, "{origin}: {}", answer.text);
        }
    }
}

#[test]
fn passkey_is_only_a_first_factor_if_the_policy_does_not_accept_it() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let mut device = authenticator();
        assert_eq!(enrol(&browser, &mut device).status, 200);
        super::enrolment::enrol_totp(server, &browser);
        server.policy(&tenant, |policy| {
            policy.mfa.required = true;
            policy.mfa.accepted_factors = vec![FactorKind::Totp];
        });
        let (_, answer) = first(&server.browser(), &mut device);
        let asked = answer.json();
        assert_eq!((&asked["status"], &asked["factors"]), (&json!("MFA_REQUIRED"), &json!(["TOTP"])));
        let body = json!({ "ticket": asked["ticket"], "factor": "WEBAUTHN", "credential": {} });
        is(&server.browser().post("/api/auth/sign-in/verify", &body), 403, "FACTOR_NOT_PERMITTED");
    });
}
