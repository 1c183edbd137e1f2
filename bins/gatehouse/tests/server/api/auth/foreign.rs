//! Session tokens of a neighbouring Auth.js service.

use std::time::Duration;

use credentials::SignInMode;
use directory::Role;
use serde_json::{Value, json};
use sessions::{CookieKeys, CookieName, CookieSecret};

use super::enrolment::enrol_totp;
use crate::support::{AUTH_SECRET, Answer, Browser, Server, code, on_both};

/// Returns a cookie as the neighbouring service would issue it now.
pub(crate) fn token(server: &Server, claims: Value) -> String {
    let keys = CookieKeys::new(&[CookieSecret::new(AUTH_SECRET.to_owned()).unwrap()]);
    let Value::Object(claims) = claims else { panic!("claims are an object") };
    keys.mint(&*server.env, CookieName::Plain, claims, 30 * 24 * 3600).unwrap()
}

fn with(server: &Server, claims: Value) -> Browser {
    let browser = server.browser();
    browser.set("authjs.session-token", &token(server, claims));
    browser
}

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

#[test]
fn neighbours_token_becomes_a_session_on_its_first_request() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let browser = with(server, json!({ "email": "Ada@Example.com", "name": "Ada" }));
        assert_eq!(browser.get("/api/me").json()["id"], ada.id.as_str());
        let sessions = browser.get("/api/me/sessions").json();
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "several requests share one session");
        assert!(server.entry(&tenant, "ACCOUNT_SIGN_IN_SUCCEEDED").metadata.contains(r#"["sso"]"#));
        assert_eq!(browser.cookie("as_sid"), "");

        let foreign = browser.cookie("authjs.session-token");
        let beat = browser.post("/api/me/sessions/heartbeat", &json!({})).json();
        assert_eq!(beat["nextHeartbeatSeconds"], 300);
        assert_eq!(beat["session"]["id"], sessions["sessions"][0]["id"]);
        assert_ne!(browser.cookie("authjs.session-token"), foreign, "the server issues its own token");
        assert_eq!(beat["session"]["id"], browser.cookie("as_sid"));

        // After sign-out the token stays refused, whatever cookies accompany it.
        browser.post("/api/auth/sign-out", &json!({}));
        browser.set("authjs.session-token", &foreign);
        is(&browser.get("/api/me"), 401, "SESSION_REVOKED");
        is(&browser.post("/api/me/sessions/heartbeat", &json!({})), 401, "SESSION_REVOKED");
    });
}

#[test]
fn unknown_and_disabled_users_are_refused_with_a_reason() {
    on_both(|server| {
        let (acme, globex) = (server.tenant("acme"), server.tenant("globex"));
        let ada = server.person(&acme, "ada@example.com", Role::Member);
        let refused = [
            json!({ "email": "nobody@example.com" }),
            json!({ "email": "not an address" }),
            json!({ "sub": "usr_1" }),
            json!({ "email": "ada@example.com", "tenant": "globex" }),
            json!({ "email": "ada@example.com", "tid": globex.id }),
            json!({ "email": "ada@example.com", "tenant": "nowhere" }),
        ];
        for claims in refused {
            is(&with(server, claims.clone()).get("/api/me"), 401, "NOT_PROVISIONED");
        }
        server.person(&globex, "ada@example.com", Role::Member);
        is(&with(server, json!({ "email": ada.email })).get("/api/me"), 401, "NOT_PROVISIONED");
        for tenant in [json!("acme"), json!(acme.id)] {
            let browser = with(server, json!({ "email": ada.email, "tenant": tenant }));
            assert_eq!(browser.get("/api/me").json()["tenant"]["slug"], "acme");
        }
        let open = with(server, json!({ "email": ada.email, "tenant": "acme", "n": 1 }));
        assert_eq!(open.get("/api/me").status, 200);
        server.policy(&acme, |policy| policy.sign_in_mode = SignInMode::CredentialsOnly);
        let late = with(server, json!({ "email": ada.email, "tenant": "acme" }));
        is(&late.get("/api/me"), 401, "SSO_NOT_ALLOWED");

        let tampered = server.browser();
        tampered.set("authjs.session-token", &format!("{}x", token(server, json!({ "email": ada.email }))));
        is(&tampered.get("/api/me"), 401, "UNAUTHENTICATED");
    });
}

#[test]
fn ending_all_sessions_refuses_unused_tokens() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let unused = with(server, json!({ "email": ada.email, "n": 1 }));
        let used = with(server, json!({ "email": ada.email, "n": 2 }));
        assert_eq!(used.get("/api/me").status, 200);
        server.env.advance(Duration::from_secs(1));
        let path = format!("/api/settings/users/{}/sessions", ada.id);
        assert_eq!(admin.get(&path).json()["sessions"].as_array().unwrap().len(), 1);
        for _ in 0..2 {
            assert_eq!(admin.delete(&path).json(), json!({ "revoked": true, "revokedTokens": 0 }));
        }
        is(&used.get("/api/me"), 401, "SESSION_REVOKED");
        is(&unused.get("/api/me"), 401, "SESSION_REVOKED");
        server.env.advance(Duration::from_secs(1));
        let fresh = with(server, json!({ "email": ada.email }));
        assert_eq!(fresh.get("/api/me").status, 200, "a neighbor may issue another token");
    });
}

#[test]
fn token_of_a_former_holder_of_the_address_is_refused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let before = with(server, json!({ "email": "ada@example.com", "n": 1 }));
        let bob = server.person(&tenant, "bob@example.com", Role::Member);
        server.env.advance(Duration::from_secs(1));
        let path = format!("/api/settings/users/{}", bob.id);
        let change = json!({ "email": "ada@example.com" });
        let changed = server.proved(&admin, "USER_ADMIN_CHANGE").send("PATCH", &path, Some(&change));
        assert_eq!(changed.status, 200, "{}", changed.text);
        is(&before.get("/api/me"), 401, "SESSION_REVOKED");
        server.env.advance(Duration::from_secs(1));
        let after = with(server, json!({ "email": "ada@example.com", "n": 2 }));
        assert_eq!(after.get("/api/me").json()["id"], bob.id.as_str());
    });
}

#[test]
fn neighbours_token_needs_a_factor_unless_its_mfa_is_trusted() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let foreign = with(server, json!({ "email": ada.email }));
        let refused = foreign.get("/api/me");
        assert_eq!((refused.status, &refused.json()["reason"]), (403, &json!("MFA_REQUIRED")));
        is(&foreign.post("/api/me/factors/totp", &json!({})), 403, "FORBIDDEN");
        let asked = foreign.post("/api/auth/sign-in/continue", &json!({})).json();
        assert_eq!((&asked["status"], &asked["factors"]), (&json!("MFA_REQUIRED"), &json!(["TOTP"])));
        let done = foreign.verify(&asked["ticket"], "TOTP", &code(&secret, server, 1));
        assert_eq!(done.json()["status"], "SIGNED_IN", "{}", done.text);
        assert_eq!(foreign.get("/api/me").status, 200);

        server.policy(&tenant, |policy| {
            policy.mfa.required = true;
            policy.mfa.trust_sso_mfa = true;
        });
        let trusted = with(server, json!({ "email": ada.email, "n": 1 }));
        assert_eq!(trusted.get("/api/me").status, 200);
        server.policy(&tenant, |policy| policy.mfa.trust_sso_mfa = false);
        let bob = server.person(&tenant, "bob@example.com", Role::Member);
        let without = with(server, json!({ "email": bob.email }));
        assert_eq!(without.get("/api/me").json()["reason"], "MFA_REQUIRED");
        let asked = without.post("/api/auth/sign-in/continue", &json!({})).json();
        assert_eq!(asked["status"], "ENROLMENT_REQUIRED");
        enrol_totp(server, &without);
        assert_eq!(without.get("/api/me").status, 200);
    });
}

#[test]
fn expired_tokens_are_refused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        server.person(&tenant, "ada@example.com", Role::Member);
        let browser = with(server, json!({ "email": "ada@example.com" }));
        server.env.advance(Duration::from_secs(30 * 24 * 3600 + 16));
        is(&browser.get("/api/me"), 401, "UNAUTHENTICATED");
    });
}
