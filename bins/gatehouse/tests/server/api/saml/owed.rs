//! A second factor after a SAML sign-in.

use std::time::Duration;

use directory::Role;
use serde_json::json;

use super::Site;
use crate::support::{Browser, PASSWORD, Server, code, on_both};

/// Enrols an authenticator app for the session and returns its secret.
fn enrol(server: &Server, browser: &Browser) -> String {
    let begun = browser.post("/api/me/factors/totp", &json!({}));
    assert_eq!(begun.status, 200, "{}", begun.text);
    let begun = begun.json();
    let secret = begun["secret"].as_str().unwrap().to_owned();
    let proof = json!({ "id": begun["id"], "code": code(&secret, server, 0) });
    let done = browser.post("/api/me/factors/totp/verify", &proof);
    assert_eq!(done.status, 200, "{}", done.text);
    secret
}

#[test]
fn user_with_a_factor_must_verify_it_after_saml() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let (_, own) = server.signed_in(&site.tenant, "ada@corp.example", Role::Member);
        let secret = enrol(server, &own);
        server.env.advance(Duration::from_mins(1));
        let browser = server.browser();
        let answer = site.sign_in(server, &browser, "ada@corp.example");
        assert_eq!((answer.status, answer.header("location")), (303, "/auth/login?resume=1&next=%2F"));
        assert_eq!(browser.cookie("as_sid"), "", "there is no session yet");
        let place = "Path=/api/auth/sign-in/resume; Max-Age=600; HttpOnly; SameSite=Lax";
        assert_eq!(answer.cookie_attributes("sign_in_ticket"), place);

        let asked = browser.post("/api/auth/sign-in/resume", &json!({}));
        assert_eq!((asked.status, &asked.json()["status"]), (200, &json!("MFA_REQUIRED")), "{}", asked.text);
        // After a reload the ticket is the same, with its wrong answers and its remaining time.
        let wrong = browser.verify(&asked.json()["ticket"], "TOTP", "000000");
        assert_eq!((wrong.status, &wrong.json()["code"]), (401, &json!("FACTOR_INVALID")));
        let again = browser.post("/api/auth/sign-in/resume", &json!({})).json();
        assert_eq!(again["ticket"], asked.json()["ticket"]);
        let done = browser.verify(&again["ticket"], "TOTP", &code(&secret, server, 0));
        assert_eq!(done.json()["status"], "SIGNED_IN", "{}", done.text);
        assert_eq!(browser.get("/api/me").json()["email"], "ada@corp.example");
        let entries = server.entries(&site.tenant);
        let entry = entries.iter().find(|entry| entry.action == "ACCOUNT_SIGN_IN_SUCCEEDED").unwrap();
        assert!(entry.metadata.contains("[\"sso\",\"otp\"]"), "{}", entry.metadata);

        // The ticket of a password sign-in cannot be resumed here.
        let by_password = server.browser();
        let ticket = by_password.sign_in("ada@corp.example", PASSWORD).json()["ticket"].clone();
        by_password.set("sign_in_ticket", ticket.as_str().unwrap());
        let refused = by_password.post("/api/auth/sign-in/resume", &json!({}));
        assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("TICKET_INVALID")));

        // SSO may be disabled while the sign-in is pending.
        let late = server.browser();
        site.sign_in(server, &late, "ada@corp.example");
        let waiting = late.post("/api/auth/sign-in/resume", &json!({})).json()["ticket"].clone();
        server.policy(&site.tenant, |policy| policy.sign_in_mode = credentials::SignInMode::CredentialsOnly);
        for refused in [
            late.post("/api/auth/sign-in/resume", &json!({})),
            late.verify(&waiting, "TOTP", &code(&secret, server, 1)),
            browser.get("/api/me"),
        ] {
            assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("SSO_NOT_ALLOWED")));
        }

        let none = server.browser().post("/api/auth/sign-in/resume", &json!({}));
        assert_eq!((none.status, &none.json()["code"]), (401, &json!("TICKET_INVALID")));
    });
}

#[test]
fn required_factor_is_enrolled_after_saml_unless_the_providers_mfa_is_trusted() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        server.policy(&site.tenant, |policy| policy.mfa.required = true);
        let browser = server.browser();
        let answer = site.sign_in(server, &browser, "ada@corp.example");
        assert_eq!((answer.status, answer.header("location")), (303, "/auth/login?continue=1&next=%2F"));
        assert_eq!(browser.get("/api/me").json()["reason"], "MFA_REQUIRED");
        enrol(server, &browser);
        assert_eq!(browser.get("/api/me").json()["email"], "ada@corp.example");

        server.policy(&site.tenant, |policy| policy.mfa.trust_sso_mfa = true);
        let trusted = server.browser();
        let answer = site.sign_in(server, &trusted, "ada@corp.example");
        assert_eq!((answer.status, answer.header("location")), (303, "/"));
        assert_eq!(trusted.get("/api/me").status, 200);
    });
}

#[test]
fn old_authentication_is_refused_if_a_new_one_was_requested() {
    on_both(|server| {
        let site = Site::with(server, "acme", |body| body["forceAuthn"] = json!(true));
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = server.browser();
        let sent = site.begin(&browser, "");
        assert_eq!(sent.attribute("ForceAuthn"), Some("true"));
        let now = kernel::Env::now(&*server.env);
        let mut says = sent.says("ada@corp.example", now);
        says.authn_instant = now.plus_millis(-3_600_000);
        let answer = site.post(&browser.with("Accept", "application/json"), &site.idp.response(&says), "");
        assert_eq!(answer.status, 401);
        assert_eq!(site.refusals(server)[0]["reason"], "AUTHN_NOT_AS_REQUESTED");
        assert_eq!(site.sign_in(server, &server.browser(), "ada@corp.example").status, 303);
    });
}
