//! The impact of a sign-in policy.

use directory::Role;
use serde_json::{Value, json};

use crate::{
    api::auth::passkeys::enrol,
    support::{authenticator, on_both},
};

const IMPACT: &str = "/api/settings/sign-in-policy/impact";

fn policy(mode: &str, required: bool, trusted: bool) -> Value {
    json!({
        "signInMode": mode,
        "mfa": { "required": required, "acceptedFactors": ["WEBAUTHN"], "trustSsoMfa": trusted },
        "session": { "idleMinutes": 720, "absoluteDays": 30 },
    })
}

#[test]
fn impact_lists_who_must_enrol_and_who_is_locked_out() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (admin, browser) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let member = server.person(&tenant, "member@example.com", Role::Member);
        tenant.scim.post("/api/scim/v2/Users", &json!({ "userName": "invited" }));
        tenant.scim.post("/api/scim/v2/Users", &json!({ "userName": "gone", "active": false }));
        let ask = |draft: &Value| browser.post(IMPACT, draft).json();
        let nobody = ask(&policy("SSO_ALLOWED", false, false));
        assert_eq!(
            nobody,
            json!({
                "users": 3, "lockedOut": 0, "mustUseSso": 0, "mustEnrol": 0, "affected": [], "own": null, "refusal": null,
            })
        );
        let mut required = ask(&policy("SSO_ALLOWED", true, false));
        let affected = required["affected"].as_array_mut().unwrap();
        affected.sort_by_key(|user| user["name"].to_string());
        assert_eq!(
            required,
            json!({
                "users": 3, "lockedOut": 0, "mustUseSso": 0, "mustEnrol": 2, "own": "MUST_ENROL", "refusal": null,
                "affected": [
                    { "userId": admin.id.as_str(), "name": "admin@example.com", "effect": "MUST_ENROL" },
                    { "userId": member.id.as_str(), "name": "member@example.com", "effect": "MUST_ENROL" },
                ],
            })
        );
        assert_eq!(enrol(&browser, &mut authenticator()).status, 200);
        assert_eq!(ask(&policy("SSO_ALLOWED", true, false))["own"], json!(null), "the passkey counts");
        let sso = ask(&policy("SSO_REQUIRED", true, false));
        assert_eq!((&sso["lockedOut"], &sso["own"]), (&json!(2), &json!("LOCKED_OUT")));
        assert!(sso["refusal"].as_str().unwrap().contains("no SSO connection"), "{sso}");
        let wrong = browser.post(IMPACT, &json!({ "signInMode": "SSO_ALLOWED" }));
        assert_eq!(wrong.json()["code"], "INVALID_REQUEST");
        let (_, member) = server.signed_in(&tenant, "other@example.com", Role::Member);
        assert_eq!(member.post(IMPACT, &policy("SSO_ALLOWED", true, false)).status, 403);
    });
}
