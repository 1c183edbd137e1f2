//! A password reset must end an attacker's access at once, not when it is redeemed. An attacker who redeems the link
//! must not consume the notice that the owner should see.

use directory::Role;
use serde_json::{Value, json};

use crate::support::{Answer, on_both};

const NEW: &str = "seven owls read old maps";

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

#[test]
fn reset_ends_sessions_and_the_old_password_at_once() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (user, thief) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let path = format!("/api/settings/users/{}/reset-password", user.id);
        let reset = || server.proved(&admin, "USER_ADMIN_CHANGE").post(&path, &json!({})).json();
        let redeem = |reset: &Value, password: &str| {
            let token = reset["link"].as_str().unwrap().split_once("#link=").unwrap().1;
            server.browser().post("/api/auth/links/redeem", &json!({ "token": token, "password": password }))
        };
        let first = reset();
        is(&thief.get("/api/me"), 401, "SESSION_REVOKED");
        is(&server.browser().sign_in(&user.email, user.password), 401, "INVALID_CREDENTIALS");
        // A repeated reset replaces the first link and is valid for an hour.
        let second = reset();
        is(&redeem(&first, NEW), 401, "LINK_INVALID");
        server.env.advance(std::time::Duration::from_hours(1));
        is(&redeem(&second, NEW), 401, "LINK_INVALID");

        // The user who redeems the link gets the notice, and the owner gets it at the next sign-in as well.
        let redeemed = redeem(&reset(), NEW).json();
        assert_eq!(redeemed, json!({ "status": "SIGNED_IN", "notice": "PASSWORD_RESET" }));
        let owner = || server.browser().sign_in(&user.email, NEW).json();
        assert_eq!(owner(), json!({ "status": "SIGNED_IN", "notice": "PASSWORD_RESET" }));
        assert_eq!(owner(), json!({ "status": "SIGNED_IN" }), "the owner gets the notice once");
    });
}

#[test]
fn one_notice_does_not_hide_another() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let user = server.person(&tenant, "ada@example.com", Role::Member);
        let act = |act: &str| {
            let path = format!("/api/settings/users/{}/{act}", user.id);
            server.proved(&admin, "USER_ADMIN_CHANGE").post(&path, &json!({})).json()
        };
        let link = act("reset-password")["link"].as_str().unwrap().to_owned();
        act("reset-factors");
        let token = link.split_once("#link=").unwrap().1;
        let body = json!({ "token": token, "password": NEW });
        assert_eq!(server.browser().post("/api/auth/links/redeem", &body).json()["notice"], "FACTORS_RESET");
        let notices: Vec<Value> =
            (0..3).map(|_| server.browser().sign_in(&user.email, NEW).json()["notice"].clone()).collect();
        assert_eq!(notices, [json!("FACTORS_RESET"), json!("PASSWORD_RESET"), Value::Null]);
    });
}
