//! Session fixation: an attacker knows or planted a session ID before the user signs in.

use data_encoding::BASE64URL_NOPAD;
use directory::Role;
use kernel::Env;
use serde_json::json;

use crate::{
    api::{auth::enrolment::enrol_totp, saml::Site},
    support::{Answer, code, on_both},
};

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

#[test]
fn completed_session_gets_a_new_id() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        server.policy(&tenant, |policy| policy.mfa.required = true);
        let browser = server.browser();
        assert_eq!(browser.sign_in(&ada.email, ada.password).json()["status"], "ENROLMENT_REQUIRED");
        let before = browser.clone();
        enrol_totp(server, &browser);
        assert_ne!(browser.cookie("as_sid"), before.cookie("as_sid"));
        assert_eq!(browser.get("/api/me").status, 200);
        is(&before.get("/api/me"), 401, "UNAUTHENTICATED");
        let renewed = server.entry(&tenant, "ACCOUNT_SESSION_RENEWED");
        assert_eq!(renewed.resource_id, browser.cookie("as_sid"));
        assert!(renewed.metadata.contains(&before.cookie("as_sid")), "{}", renewed.metadata);
    });
}

#[test]
fn new_sign_in_ends_the_browsers_previous_session() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let before = browser.clone();
        assert_eq!(browser.sign_in(&ada.email, ada.password).json()["status"], "SIGNED_IN");
        is(&before.get("/api/me"), 401, "SESSION_REVOKED");
        assert_eq!(browser.get("/api/me").status, 200);
        let revoked = server.entry(&tenant, "ACCOUNT_SESSION_REVOKED");
        assert!(revoked.metadata.contains("REPLACED"), "{}", revoked.metadata);
        // A failed or unfinished sign-in ends no session.
        assert_eq!(browser.sign_in(&ada.email, "wrong").status, 401);
        let secret = enrol_totp(server, &browser);
        let asked = browser.sign_in(&ada.email, ada.password).json();
        assert_eq!(browser.get("/api/me").status, 200);
        let before = browser.clone();
        let next = code(&secret, server, 1);
        assert_eq!(browser.verify(&asked["ticket"], "TOTP", &next).json()["status"], "SIGNED_IN");
        is(&before.get("/api/me"), 401, "SESSION_REVOKED");
    });
}

#[test]
fn sign_in_by_a_post_of_another_site_ends_the_browsers_previous_session() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let (_, browser) = server.signed_in(&site.tenant, "ada@corp.example", Role::Member);
        let before = browser.clone();
        let sent = site.begin(&browser, "");
        let response = site.idp.response(&sent.says("ada@corp.example", server.env.now()));
        // Browsers send no SameSite=Lax cookies with such a POST.
        let posting = browser.clone();
        posting.drop_cookie("authjs.session-token");
        posting.drop_cookie("as_sid");
        let answer = site.post(&posting, &response, "");
        assert_eq!(answer.status, 303, "{}", answer.text);
        assert_eq!(posting.get("/api/me").status, 200);
        is(&before.get("/api/me"), 401, "SESSION_REVOKED");

        // The name of a session counts only as this server has signed it.
        let (_, victim) = server.signed_in(&site.tenant, "bob@corp.example", Role::Member);
        let sent = site.begin(&posting, "");
        let response = site.idp.response(&sent.says("ada@corp.example", server.env.now()));
        let name = posting.cookies.borrow().keys().find(|name| name.ends_with("_session")).cloned().unwrap();
        let sealed = posting.cookie(&name);
        let parts: Vec<_> = sealed.split('.').collect();
        let other = format!("{} {}", site.tenant.id, victim.cookie("as_sid"));
        posting.set(&name, &[parts[0], &BASE64URL_NOPAD.encode(other.as_bytes()), parts[2]].join("."));
        posting.drop_cookie("authjs.session-token");
        assert_eq!(site.post(&posting, &response, "").status, 303);
        assert_eq!(victim.get("/api/me").status, 200);
    });
}

#[test]
fn two_cookies_of_one_name_are_refused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, ada) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let (_, eve) = server.signed_in(&tenant, "eve@example.com", Role::Member);
        let session = |of: &crate::support::Browser| {
            format!("authjs.session-token={}", of.cookie("authjs.session-token"))
        };
        let both = format!("{}; {}", session(&eve), session(&ada));
        let answer = server.anonymous().with("Cookie", &both).get("/api/me");
        is(&answer, 401, "UNAUTHENTICATED");
        let apart = server.anonymous().with("Cookie", &session(&eve)).with("Cookie", &session(&ada));
        is(&apart.get("/api/me"), 401, "UNAUTHENTICATED");
        assert_eq!(server.anonymous().with("Cookie", &session(&ada)).get("/api/me").status, 200);
    });
}
