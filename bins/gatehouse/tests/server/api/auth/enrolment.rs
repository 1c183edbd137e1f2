//! Second factors: enrolment, verification, recovery and removal.

use std::time::Duration;

use credentials::FactorKind;
use directory::Role;
use serde_json::{Value, json};

use crate::support::{Answer, Browser, Person, Server, code, on_both};

/// Enrols an authenticator app and returns its secret.
pub(crate) fn enrol_totp(server: &Server, browser: &Browser) -> String {
    let begun = browser.post("/api/me/factors/totp", &json!({}));
    assert_eq!(begun.status, 200, "{}", begun.text);
    let setup = begun.json();
    let secret = setup["secret"].as_str().unwrap().to_owned();
    let body = json!({ "id": setup["id"], "code": code(&secret, server, 0) });
    let answer = browser.post("/api/me/factors/totp/verify", &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    secret
}

pub(crate) fn codes(browser: &Browser) -> Vec<String> {
    let answer = browser.post("/api/me/recovery-codes", &json!({}));
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["codes"].as_array().unwrap().iter().map(|code| code.as_str().unwrap().to_owned()).collect()
}

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

fn first_step(browser: &Browser, person: &Person) -> Value {
    browser.sign_in(&person.email, person.password).json()
}

#[test]
fn app_codes_are_required_after_enrolment_and_usable_once() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let begun = browser.post("/api/me/factors/totp", &json!({})).json();
        let uri = begun["otpauthUri"].as_str().unwrap();
        assert!(uri.starts_with("otpauth://totp/Gatehouse:ada%40example.com?secret="), "{uri}");
        assert!(begun["qrSvg"].as_str().unwrap().starts_with("<svg"));
        let wrong = json!({ "id": begun["id"], "code": "000000" });
        is(&browser.post("/api/me/factors/totp/verify", &wrong), 401, "FACTOR_INVALID");
        assert_eq!(
            browser.get("/api/me/factors").json()["factors"],
            json!([]),
            "a pending factor is not listed"
        );
        let secret = enrol_totp(server, &browser);
        let listed = browser.get("/api/me/factors").json();
        assert_eq!(
            (&listed["factors"][0]["kind"], &listed["unusedRecoveryCodes"]),
            (&json!("TOTP"), &json!(0))
        );

        let other = server.browser();
        let asked = first_step(&other, &ada);
        assert_eq!((&asked["status"], &asked["factors"]), (&json!("MFA_REQUIRED"), &json!(["TOTP"])));
        is(&other.get("/api/me"), 401, "UNAUTHENTICATED");
        let used = code(&secret, server, 0);
        is(&other.verify(&asked["ticket"], "TOTP", &used), 401, "FACTOR_INVALID");
        let next = code(&secret, server, 1);
        assert_eq!(other.verify(&asked["ticket"], "TOTP", &next).json()["status"], "SIGNED_IN");
        is(&other.verify(&asked["ticket"], "TOTP", &next), 401, "TICKET_INVALID");
        let entry = server
            .entries(&tenant)
            .into_iter()
            .find(|entry| entry.action == "ACCOUNT_SIGN_IN_SUCCEEDED" && entry.metadata.contains("otp"));
        assert!(entry.unwrap().metadata.contains(r#"["pwd","otp"]"#));
    });
}

#[test]
fn sign_in_ticket_ends_after_five_wrong_answers_or_ten_minutes() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let other = server.browser();
        let ticket = first_step(&other, &ada)["ticket"].clone();
        for _ in 0..5 {
            is(&other.verify(&ticket, "TOTP", "000000"), 401, "FACTOR_INVALID");
        }
        is(&other.verify(&ticket, "TOTP", &code(&secret, server, 1)), 401, "TICKET_INVALID");
        let ticket = first_step(&other, &ada)["ticket"].clone();
        server.env.advance(Duration::from_mins(10));
        is(&other.verify(&ticket, "TOTP", &code(&secret, server, 0)), 401, "TICKET_INVALID");
        for ticket in [json!("tkt_x"), json!(""), json!(tenant.token)] {
            is(&other.verify(&ticket, "TOTP", "000000"), 401, "TICKET_INVALID");
        }
    });
}

#[test]
fn recovery_code_signs_in_once_and_allows_replacing_the_lost_factor() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        is(&browser.post("/api/me/recovery-codes", &json!({})), 409, "CONFLICT");
        enrol_totp(server, &browser);
        assert_eq!(codes(&browser).len(), 10);
        let codes = codes(&browser);
        server.env.advance(Duration::from_mins(15));
        is(&browser.post("/api/me/recovery-codes", &json!({})), 401, "STEP_UP_REQUIRED");

        let other = server.browser();
        let asked = first_step(&other, &ada);
        assert_eq!(asked["factors"], json!(["TOTP", "RECOVERY_CODE"]));
        let typed = codes[3].to_uppercase().replace('-', " ");
        let answer = other.verify(&asked["ticket"], "RECOVERY_CODE", &typed);
        assert_eq!(answer.json()["status"], "SIGNED_IN");
        let used = server.entry(&tenant, "ACCOUNT_RECOVERY_CODE_USED");
        assert_eq!(used.metadata, r#"{"left":9}"#);
        let again = first_step(&server.browser(), &ada);
        is(&other.verify(&again["ticket"], "RECOVERY_CODE", &codes[3]), 401, "FACTOR_INVALID");

        // The lost factor may be removed and a new one enrolled, once each and without a step-up.
        let lost = other.get("/api/me/factors").json()["factors"][0]["id"].clone();
        enrol_totp(server, &other);
        is(&other.post("/api/me/factors/totp", &json!({})), 401, "STEP_UP_REQUIRED");
        // Continuing with the session grants no second grace.
        assert_eq!(other.post("/api/auth/sign-in/continue", &json!({})).json()["status"], "SIGNED_IN");
        is(&other.post("/api/me/factors/totp", &json!({})), 401, "STEP_UP_REQUIRED");
        let path = format!("/api/me/factors/{}", lost.as_str().unwrap());
        assert_eq!(other.delete(&path).text, r#"{"deleted":true}"#);
        is(&browser.get("/api/me"), 401, "SESSION_REVOKED");
        let newer = other.get("/api/me/factors").json()["factors"][0]["id"].clone();
        is(&other.delete(&format!("/api/me/factors/{}", newer.as_str().unwrap())), 401, "STEP_UP_REQUIRED");
    });
}

#[test]
fn required_factor_must_be_enrolled_before_anything_else() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        server.policy(&tenant, |policy| policy.mfa.required = true);
        let ada = server.person(&tenant, "ada@example.com", Role::Admin);
        let browser = server.browser();
        let asked = first_step(&browser, &ada);
        assert_eq!(asked["status"], "ENROLMENT_REQUIRED");
        for path in ["/api/me", "/api/me/sessions", "/api/people", "/api/settings/users"] {
            let answer = browser.get(path);
            assert_eq!((answer.status, &answer.json()["reason"]), (403, &json!("MFA_REQUIRED")), "{path}");
        }
        is(&browser.delete("/api/me/factors"), 403, "FORBIDDEN");
        assert_eq!(browser.get("/api/me/factors").status, 200);
        enrol_totp(server, &browser);
        assert_eq!(browser.get("/api/me").status, 200);
        assert_eq!(codes(&browser).len(), 10);
        let again = browser.post("/api/auth/sign-in/continue", &json!({})).json();
        assert_eq!(again["status"], "SIGNED_IN");

        // The sign-in must be recent: an abandoned restricted session cannot enrol.
        let bob = server.person(&tenant, "bob@example.com", Role::Member);
        let late = server.browser();
        first_step(&late, &bob);
        server.env.advance(Duration::from_mins(5));
        is(&late.post("/api/me/factors/totp", &json!({})), 401, "REAUTH_REQUIRED");
        // Continuing does not count as a sign-in.
        assert_eq!(
            late.post("/api/auth/sign-in/continue", &json!({})).json()["status"],
            "ENROLMENT_REQUIRED"
        );
        is(&late.post("/api/me/factors/totp", &json!({})), 401, "REAUTH_REQUIRED");
        server.policy(&tenant, |policy| policy.mfa.required = false);
        assert_eq!(late.post("/api/auth/sign-in/continue", &json!({})).json()["status"], "SIGNED_IN");
        assert_eq!(late.get("/api/me").status, 200);
        is(&late.post("/api/me/factors/totp", &json!({})), 401, "REAUTH_REQUIRED");
    });
}

#[test]
fn user_with_a_factor_cannot_enrol_another_with_only_the_password() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        // An attacker with the password, under a policy that accepts only passkeys, must verify the app first.
        server.policy(&tenant, |policy| {
            policy.mfa.required = true;
            policy.mfa.accepted_factors = vec![FactorKind::Webauthn];
        });
        let thief = server.browser();
        let asked = first_step(&thief, &ada);
        assert_eq!((&asked["status"], &asked["factors"]), (&json!("MFA_REQUIRED"), &json!(["TOTP"])));
        is(&thief.post("/api/me/factors/passkeys/options", &json!({})), 401, "UNAUTHENTICATED");
        // The user verifies the app and continues to enrol a passkey.
        let answer = thief.verify(&asked["ticket"], "TOTP", &code(&secret, server, 1));
        assert_eq!(answer.json()["status"], "ENROLMENT_REQUIRED");
        assert_eq!(thief.get("/api/me").json()["reason"], "MFA_REQUIRED");
        assert_eq!(thief.post("/api/me/factors/passkeys/options", &json!({})).status, 200);
    });
}

#[test]
fn recovery_codes_are_required_after_the_factor_was_removed() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        enrol_totp(server, &browser);
        let codes = codes(&browser);
        server.policy(&tenant, |policy| policy.mfa.required = true);
        let id = browser.get("/api/me/factors").json()["factors"][0]["id"].as_str().unwrap().to_owned();
        let proved = server.proved(&browser, "ACCOUNT_SECURITY_CHANGE");
        assert_eq!(proved.delete(&format!("/api/me/factors/{id}")).status, 200);
        // The password is not enough to enrol a new factor.
        let thief = server.browser();
        let asked = first_step(&thief, &ada);
        assert_eq!(
            (&asked["status"], &asked["factors"]),
            (&json!("MFA_REQUIRED"), &json!(["RECOVERY_CODE"]))
        );
        is(&thief.post("/api/me/factors/totp", &json!({})), 401, "UNAUTHENTICATED");
        let answer = thief.verify(&asked["ticket"], "RECOVERY_CODE", &codes[0]);
        assert_eq!(answer.json()["status"], "SIGNED_IN");
        enrol_totp(server, &thief);
        is(&thief.post("/api/me/factors/totp", &json!({})), 401, "STEP_UP_REQUIRED");
        is(&thief.post("/api/me/recovery-codes", &json!({})), 401, "STEP_UP_REQUIRED");
    });
}

#[test]
fn policy_change_applies_to_existing_sessions() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, without) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let (_, with) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        enrol_totp(server, &with);
        server.policy(&tenant, |policy| policy.mfa.required = true);
        assert_eq!(without.get("/api/me").json()["reason"], "MFA_REQUIRED");
        assert_eq!(with.get("/api/me").status, 200);
        enrol_totp(server, &without);
        assert_eq!(without.get("/api/me").status, 200);
    });
}

#[test]
fn required_factor_cannot_be_removed() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        enrol_totp(server, &browser);
        let proved = server.proved(&browser, "ACCOUNT_SECURITY_CHANGE");
        let id = browser.get("/api/me/factors").json()["factors"][0]["id"].as_str().unwrap().to_owned();
        let path = format!("/api/me/factors/{id}");
        is(&browser.delete(&path), 401, "STEP_UP_REQUIRED");
        is(&server.proved(&browser, "PAT_MINT_ADMIN").delete(&path), 401, "STEP_UP_INVALID");
        is(&server.proved(&proved, "ACCOUNT_SECURITY_CHANGE").delete(&path), 401, "STEP_UP_INVALID");
        let asked = browser.delete("/api/me/factors");
        assert_eq!(asked.header("www-authenticate"), "StepUp purpose=ACCOUNT_SECURITY_CHANGE");
        assert_eq!(asked.json()["purpose"], "ACCOUNT_SECURITY_CHANGE");
        assert_eq!(asked.json().get("requiresPhishingResistant"), None);

        // A refused action leaves the step-up token valid.
        server.policy(&tenant, |policy| policy.mfa.required = true);
        is(&proved.delete("/api/me/factors"), 409, "POLICY_REQUIRES_MFA");
        is(&proved.delete(&path), 409, "LAST_FACTOR_POLICY_BLOCKED");
        is(&proved.delete("/api/me/factors/fac_06gzkadrwwt5d9z93ens6801xc"), 404, "NOT_FOUND");
        server.policy(&tenant, |policy| policy.mfa.accepted_factors = vec![FactorKind::Webauthn]);
        let owing = proved.delete(&path);
        assert_eq!((owing.status, &owing.json()["reason"]), (403, &json!("MFA_REQUIRED")), "{}", owing.text);
        server.policy(&tenant, |policy| policy.mfa.required = false);
        is(&proved.delete(&path), 409, "POLICY_REQUIRES_WEBAUTHN");
        server.policy(&tenant, |policy| policy.mfa.accepted_factors.push(FactorKind::Totp));
        assert_eq!(proved.delete("/api/me/factors").text, r#"{"deleted":true}"#);
        assert_eq!(browser.get("/api/me/factors").json()["factors"], json!([]));
        // No factor remains to remove or to step up with.
        is(&browser.delete("/api/me/factors"), 409, "NO_FACTOR_AVAILABLE");
    });
}
