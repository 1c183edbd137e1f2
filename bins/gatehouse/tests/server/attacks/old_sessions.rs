//! Sessions that started before the policy became stricter.

use credentials::{FactorKind, SignInMode};
use directory::Role;
use serde_json::json;

use crate::{
    api::auth::enrolment::enrol_totp,
    support::{Answer, on_both},
};

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

#[test]
fn password_session_ends_with_sso_required() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        server.policy(&tenant, |policy| policy.sign_in_mode = SignInMode::SsoRequired);
        is(&browser.get("/api/me"), 403, "SSO_REQUIRED");
        is(
            &browser.post("/api/me/tokens", &json!({ "name": "x", "scopes": ["read:hcm"] })),
            403,
            "SSO_REQUIRED",
        );
        let change =
            json!({ "currentPassword": "correct horse and more", "newPassword": "another long one" });
        is(&browser.post("/api/me/password", &change), 403, "SSO_REQUIRED");
        assert_eq!(
            browser.post("/api/auth/sign-out", &json!({})).status,
            200,
            "signing out is always possible"
        );
    });
}

#[test]
fn session_with_a_factor_no_longer_accepted_needs_another() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        enrol_totp(server, &browser);
        assert_eq!(browser.get("/api/settings/webhooks").status, 200);
        server.policy(&tenant, |policy| {
            policy.mfa.required = true;
            policy.mfa.accepted_factors = vec![FactorKind::Webauthn];
        });
        let refused = browser.get("/api/settings/webhooks");
        assert_eq!(
            (refused.status, &refused.json()["reason"]),
            (403, &json!("MFA_REQUIRED")),
            "{}",
            refused.text
        );
    });
}

#[test]
fn sign_out_is_possible_from_a_blocked_address() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let rule = json!({ "cidr": "198.51.100.0/24", "label": "office" });
        let proved = server.proved(&browser, "NETWORK_POLICY_CHANGE");
        assert_eq!(proved.post("/api/settings/network-policy/rules", &rule).status, 200);
        let policy = json!({
            "mode": "ALLOWLIST",
            "enforcement": { "SIGN_IN": true, "DASHBOARD": true, "API": true },
            "adminBypass": false,
            "acknowledge": ["CALLER_NOT_COVERED"],
        });
        let proved = server.proved(&browser, "NETWORK_POLICY_CHANGE");
        assert_eq!(proved.put("/api/settings/network-policy", &policy).status, 200);
        is(&browser.get("/api/me"), 403, "NETWORK_POLICY_BLOCKED");
        let before = browser.clone();
        assert_eq!(browser.post("/api/auth/sign-out", &json!({})).status, 200);
        is(&before.get("/api/me"), 401, "SESSION_REVOKED");
    });
}
