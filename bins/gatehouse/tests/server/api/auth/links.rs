//! Invitation and reset links, from the administrator's request to the signed-in user.

use std::time::Duration;

use directory::Role;
use serde_json::{Value, json};

use super::enrolment::enrol_totp;
use crate::support::{Answer, on_both};

const NEW: &str = "a new and longer one";

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

fn token(link: &Value) -> String {
    let link = link.as_str().unwrap();
    let (page, token) = link.split_once("#link=").unwrap();
    assert_eq!(page, "http://localhost:8080/auth/login");
    token.to_owned()
}

#[test]
fn invited_user_sets_a_password_and_signs_in() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let body = json!({ "email": "Ada@Example.com", "displayName": "Ada Lovelace" });
        let invited = admin.post("/api/settings/users", &body);
        assert_eq!(invited.status, 200, "{}", invited.text);
        let invited = invited.json();
        assert_eq!((&invited["role"], &invited["active"]), (&json!("MEMBER"), &json!(true)));
        is(&admin.post("/api/settings/users", &body), 409, "uniqueness");
        assert_eq!(
            admin.get(&format!("/api/settings/users/{}", invited["id"].as_str().unwrap())).json().get("link"),
            None
        );
        let token = token(&invited["link"]);
        let ada = server.browser();
        let redeem = |password: &str| {
            ada.post("/api/auth/links/redeem", &json!({ "token": token, "password": password }))
        };
        let weak = redeem("short");
        assert_eq!(
            (weak.status, weak.json()["error"].as_str().unwrap().starts_with("password: ")),
            (400, true)
        );
        assert_eq!(redeem(NEW).json()["status"], "SIGNED_IN");
        assert_eq!(ada.get("/api/me").json()["displayName"], "Ada Lovelace");
        is(&redeem(NEW), 401, "LINK_INVALID");
        assert_eq!(server.browser().sign_in("ada@example.com", NEW).status, 200);
        let refused =
            admin.post("/api/settings/users", &json!({ "email": "x@example.com", "role": "ADMIN" }));
        is(&refused, 401, "STEP_UP_REQUIRED");
        let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
        let answer =
            proved.post("/api/settings/users", &json!({ "email": "x@example.com", "role": "ADMIN" }));
        assert_eq!(answer.json()["role"], "ADMIN");
    });
}

#[test]
fn password_reset_ends_sessions_requires_the_factor_and_is_reported() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let path = format!("/api/settings/users/{}/reset-password", ada.id);
        is(&admin.post(&path, &json!({})), 401, "STEP_UP_REQUIRED");
        let reset = || {
            let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
            token(&proved.post(&path, &json!({})).json()["link"])
        };
        let (first, second) = (reset(), reset());
        let redeem = |token: &str| {
            let body = json!({ "token": token, "password": NEW });
            server.browser().post("/api/auth/links/redeem", &body)
        };
        is(&redeem(&first), 401, "LINK_INVALID");
        server.env.advance(Duration::from_hours(1));
        is(&redeem(&second), 401, "LINK_INVALID");
        let fourth = reset();
        assert_eq!(redeem(&fourth).json()["status"], "MFA_REQUIRED");
        let sign_in = server.browser().sign_in(&ada.email, NEW).json();
        let third = reset();
        is(&browser.get("/api/me"), 401, "SESSION_REVOKED");
        is(&server.browser().sign_in(&ada.email, NEW), 401, "INVALID_CREDENTIALS");
        let asked = redeem(&third).json();
        assert_eq!(asked["status"], "MFA_REQUIRED");
        let late =
            server.browser().verify(&sign_in["ticket"], "TOTP", &crate::support::code(&secret, server, 0));
        is(&late, 401, "TICKET_INVALID");
        let other = server.browser();
        let done = other.verify(&asked["ticket"], "TOTP", &crate::support::code(&secret, server, 0)).json();
        assert_eq!(done, json!({ "status": "SIGNED_IN", "notice": "PASSWORD_RESET" }));

        let path = format!("/api/settings/users/{}/reset-factors", ada.id);
        is(&admin.post(&path, &json!({})), 401, "STEP_UP_REQUIRED");
        let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
        assert_eq!(proved.post(&path, &json!({})).text, r#"{"removed":1,"revokedTokens":0}"#);
        is(&other.get("/api/me"), 401, "SESSION_REVOKED");
        let again = server.browser().sign_in(&ada.email, NEW).json();
        assert_eq!(again, json!({ "status": "SIGNED_IN", "notice": "FACTORS_RESET" }));
    });
}
