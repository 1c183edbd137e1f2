//! Passkeys: enrolment, and use as a second factor and as both factors.

use credentials::FactorKind;
use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Answer, Authenticator, Browser, Server, on_both};

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
        let mut device = Authenticator::new();
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

#[test]
fn invalid_authenticator_responses_are_refused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let mut device = Authenticator::new();
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

        let mut stranger = Authenticator::new();
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
        let mut device = Authenticator::new();
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
        let mut device = Authenticator::new();
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
