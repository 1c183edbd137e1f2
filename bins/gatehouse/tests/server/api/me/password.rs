//! `POST /api/me/password`

use std::time::Duration;

use directory::Role;
use serde_json::json;

use crate::{
    api::auth::enrolment::enrol_totp,
    support::{Answer, on_both},
};

const NEW: &str = "a new and longer one";

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

#[test]
fn password_change_requires_recent_sign_in_or_step_up_and_ends_other_sessions() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let other = server.browser();
        other.sign_in(&ada.email, ada.password);
        let change = |browser: &crate::support::Browser, current: &str, new: &str| {
            browser.post("/api/me/password", &json!({ "currentPassword": current, "newPassword": new }))
        };
        is(&change(&browser, "wrong", NEW), 401, "INVALID_CREDENTIALS");
        is(&change(&browser, ada.password, "short"), 400, "INVALID_REQUEST");
        assert_eq!(change(&browser, ada.password, NEW).text, r#"{"changed":true}"#);
        assert_eq!(browser.get("/api/me").status, 200);
        is(&other.get("/api/me"), 401, "SESSION_REVOKED");
        is(&server.browser().sign_in(&ada.email, ada.password), 401, "INVALID_CREDENTIALS");
        server.env.advance(Duration::from_mins(5));
        is(&change(&browser, NEW, ada.password), 401, "REAUTH_REQUIRED");

        let again = server.browser();
        assert_eq!(again.sign_in(&ada.email, NEW).status, 200);
        enrol_totp(server, &again);
        is(&change(&again, NEW, ada.password), 401, "STEP_UP_REQUIRED");
        is(&again.post("/api/me/password", &json!({ "nonsense": 1 })), 401, "STEP_UP_REQUIRED");
        let proved = server.proved(&again, "ACCOUNT_SECURITY_CHANGE");
        assert_eq!(change(&proved, NEW, ada.password).status, 200);
        let proved = server.proved(&again, "ACCOUNT_SECURITY_CHANGE");
        for _ in 0..8 {
            is(&change(&proved, "wrong", NEW), 401, "INVALID_CREDENTIALS");
        }
        is(&change(&proved, ada.password, NEW), 429, "RATE_LIMITED");
    });
}
