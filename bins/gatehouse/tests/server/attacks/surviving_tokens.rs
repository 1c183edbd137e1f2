//! An attacker had access to an account for a moment, and keeps a personal access token of it through every recovery.

use std::time::Duration;

use credentials::PatPolicy;
use directory::Role;
use serde_json::{Value, json};

use crate::support::{Answer, Browser, Caller, Server, on_both};

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

/// Creates a token. Returns a client with it, and its ID.
fn mint(server: &Server, browser: &Browser, scopes: &[&str]) -> (Caller, String) {
    let made = browser.post("/api/me/tokens", &json!({ "name": "kept", "scopes": scopes }));
    assert_eq!(made.status, 200, "{}", made.text);
    let text = |name: &str| made.json()[name].as_str().unwrap().to_owned();
    (server.anonymous().bearer(&text("token")), text("id"))
}

#[test]
fn every_recovery_revokes_the_tokens_and_returns_their_number() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let recoveries = [
            ("reset-password", "POST", "/reset-password"),
            ("reset-factors", "POST", "/reset-factors"),
            ("sign out everywhere", "DELETE", "/sessions"),
        ];
        for (number, (what, method, path)) in recoveries.into_iter().enumerate() {
            let (user, browser) =
                server.signed_in(&tenant, &format!("user{number}@example.com"), Role::Member);
            let (thief, first) = mint(server, &browser, &["read:profile"]);
            mint(server, &browser, &["read:hcm"]);
            assert_eq!(thief.get("/api/me").status, 200);
            let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
            let path = format!("/api/settings/users/{}{path}", user.id);
            let done = proved.send(method, &path, Some(&json!({})));
            assert_eq!(
                (done.status, &done.json()["revokedTokens"]),
                (200, &json!(2)),
                "{what}: {}",
                done.text
            );
            is(&thief.get("/api/me"), 401, "UNAUTHENTICATED");
            is(&browser.get("/api/me"), 401, "SESSION_REVOKED");
            let recorded = server.entries(&tenant).into_iter();
            assert!(
                recorded
                    .clone()
                    .any(|entry| entry.action == "ACCOUNT_PAT_REVOKED" && entry.resource_id == first),
                "{what}"
            );
        }
    });
}

#[test]
fn password_change_revokes_the_tokens_on_request() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (user, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let (thief, _) = mint(server, &browser, &["read:profile"]);
        let change = |current: &str, new: &str, revoke: bool| {
            let body = json!({ "currentPassword": current, "newPassword": new, "revokeTokens": revoke });
            browser.post("/api/me/password", &body)
        };
        let new = "seven owls read old maps";
        assert_eq!(change(user.password, new, false).text, r#"{"changed":true}"#);
        assert_eq!(thief.get("/api/me").status, 200);
        assert_eq!(change(new, user.password, true).text, r#"{"changed":true,"revokedTokens":1}"#);
        is(&thief.get("/api/me"), 401, "UNAUTHENTICATED");
    });
}

#[test]
fn administrators_list_and_revoke_the_tokens_of_their_users() {
    on_both(|server| {
        let (tenant, other) = (server.tenant("acme"), server.tenant("globex"));
        let (admin_user, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (_, foreign) = server.signed_in(&other, "other@example.com", Role::Admin);
        let (user, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let (thief, id) = mint(server, &browser, &["read:profile"]);
        let list = format!("/api/settings/users/{}/tokens", user.id);
        let listed = admin.get(&list).json();
        assert_eq!((&listed["tokens"][0]["id"], listed["tokens"][0].get("token")), (&json!(id), None));
        let one = format!("{list}/{id}");
        assert_eq!(browser.get(&list).json()["reason"], "ROLE_REQUIRED");
        assert_eq!(browser.delete(&one).json()["reason"], "ROLE_REQUIRED");
        is(&foreign.get(&list), 404, "NOT_FOUND");
        is(&foreign.delete(&one), 404, "NOT_FOUND");
        is(&admin.delete(&format!("/api/settings/users/{}/tokens/{id}", admin_user.id)), 404, "NOT_FOUND");
        assert_eq!(thief.get("/api/me").status, 200);
        assert_eq!(admin.delete(&one).text, r#"{"deleted":true}"#);
        is(&thief.get("/api/me"), 401, "UNAUTHENTICATED");
        is(&admin.delete(&one), 404, "NOT_FOUND");
        assert_eq!(admin.get(&list).json(), json!({ "tokens": [] }));
    });
}

#[test]
fn token_that_writes_needs_a_recent_sign_in_or_step_up() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, left_open) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let ask = |scope: &str| {
            left_open.post("/api/me/tokens", &json!({ "name": "x", "scopes": [scope, "read:profile"] }))
        };
        server.env.advance(Duration::from_mins(9));
        assert_eq!(ask("write:profile").status, 200);
        server.env.advance(Duration::from_mins(2));
        for scope in ["write:profile", "write:hcm"] {
            is(&ask(scope), 401, "REAUTH_REQUIRED");
        }
        assert_eq!(ask("read:hcm").status, 200, "creating a read-only token needs no step-up");
        // A step-up for any purpose counts, consumed or not.
        server.proof(&left_open, "PAYROLL_SEAL");
        assert_eq!(ask("write:profile").status, 200);
        server.env.advance(Duration::from_mins(11));
        is(&ask("write:profile"), 401, "REAUTH_REQUIRED");
    });
}

#[test]
fn policy_limits_new_and_existing_tokens() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (user, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let (old, _) = mint(server, &browser, &["read:profile", "read:hcm"]);
        let mut policy = admin.get("/api/settings/sign-in-policy").json();
        assert_eq!(policy.get("pat"), None, "no limits are set");
        let put = |policy: &Value| {
            server.proved(&admin, "SIGN_IN_POLICY_CHANGE").put("/api/settings/sign-in-policy", policy)
        };
        for (odd, path) in [
            (json!({ "maxDays": 0 }), "pat.maxDays: "),
            (json!({ "allowedScopes": ["read:all"] }), "pat.allowedScopes[0]: "),
            (json!({ "allowedScopes": ["read:hcm", "read:hcm"] }), "pat.allowedScopes: "),
            (json!({ "more": 1 }), "pat.more: "),
        ] {
            policy["pat"] = odd;
            let refused = put(&policy);
            let error = refused.json()["error"].as_str().unwrap().to_owned();
            assert!(refused.status == 400 && error.starts_with(path), "{}", refused.text);
        }
        policy["pat"] = json!({ "maxDays": 30, "allowedScopes": ["read:profile"] });
        let set = put(&policy);
        assert_eq!((set.status, &set.json()["pat"]), (200, &policy["pat"]), "{}", set.text);
        let changed = server.entry(&tenant, "ACCOUNT_SIGN_IN_POLICY_CHANGED").metadata;
        assert_eq!(changed, r#"{"changed":["pat.maxDays","pat.allowedScopes"]}"#);

        // Existing token: a scope that is no longer allowed is refused on the next request, and the token expires
        // after thirty days.
        assert_eq!(old.get("/api/people").json()["reason"], "SCOPE_REQUIRED:read:hcm");
        assert_eq!(old.get("/api/me").json()["id"], user.id.as_str());
        let listed = browser.get("/api/me/tokens").json();
        assert_eq!(listed["tokens"][0]["scopes"], json!(["read:profile"]));
        assert!(listed["tokens"][0]["expiresAt"].is_string());
        // New tokens.
        let ask = |body: Value| browser.post("/api/me/tokens", &body);
        let refused = ask(json!({ "name": "x", "scopes": ["read:hcm"] }));
        assert!(
            refused.status == 400 && refused.text.contains("does not allow read:hcm"),
            "{}",
            refused.text
        );
        let refused = ask(json!({ "name": "x", "scopes": ["read:profile"], "expiresInDays": 31 }));
        assert!(refused.status == 400 && refused.text.contains("at most 30 days"), "{}", refused.text);
        assert!(ask(json!({ "name": "x", "scopes": ["read:profile"] })).json()["expiresAt"].is_string());

        // A client that does not know the setting leaves it unchanged.
        let mut known = policy.clone();
        known.as_object_mut().unwrap().remove("pat");
        known["session"]["absoluteDays"] = json!(365);
        known["session"]["idleMinutes"] = json!(43_200);
        assert_eq!(put(&known).json()["pat"], policy["pat"]);
        server.env.advance(Duration::from_hours(24 * 30));
        is(&old.get("/api/me"), 401, "UNAUTHENTICATED");
        server.policy(&tenant, |policy| policy.pat = Some(PatPolicy::default()));
        assert_eq!(old.get("/api/people").status, 200, "the limits are lifted");
    });
}
