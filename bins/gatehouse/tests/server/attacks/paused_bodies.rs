//! The attacker sends the headers of a request, delays the body until the credential has lost permissions, and then
//! sends the body.

use credentials::SignInMode;
use directory::Role;
use serde_json::{Value, json};

use crate::support::{Browser, PausedRequest, Server, Tenant, ada, on_both};

/// The attacker, an administrator, and a second administrator who acts against them.
struct Admins {
    tenant: Tenant,
    mallory: String,
    browser: Browser,
    other: Browser,
}

impl Admins {
    fn new(server: &Server) -> Self {
        let tenant = server.tenant("acme");
        let (mallory, browser) = server.signed_in(&tenant, "mallory@example.com", Role::Admin);
        let (_, other) = server.signed_in(&tenant, "root@example.com", Role::Admin);
        Self { tenant, mallory: format!("/api/settings/users/{}", mallory.id), browser, other }
    }

    /// Changes the attacker's user as the other administrator.
    fn change(&self, server: &Server, body: &Value) {
        let proved = server.proved(&self.other, "USER_ADMIN_CHANGE");
        let answer = proved.send("PATCH", &self.mallory, Some(body));
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    fn webhooks(&self) -> usize {
        self.other.get("/api/settings/webhooks").json()["subscriptions"].as_array().unwrap().len()
    }
}

fn webhook() -> Value {
    json!({ "name": "mine", "url": "https://hooks.example.com/" })
}

fn is((status, body): (u16, Value), expected: u16, code: &str) {
    assert_eq!((status, &body["code"]), (expected, &json!(code)), "{body}");
}

#[test]
fn demoted_administrator_cannot_promote_themselves() {
    on_both(|server| {
        let admins = Admins::new(server);
        let token = server.proof(&admins.browser, "USER_ADMIN_CHANGE");
        let body = json!({ "role": "ADMIN" });
        let request =
            PausedRequest::by(server, &admins.browser, Some(&token), "PATCH", &admins.mallory, &body);
        admins.change(server, &json!({ "role": "MEMBER" }));
        let (status, answer) = request.finish();
        assert_eq!((status, &answer["reason"]), (403, &json!("ROLE_REQUIRED")), "{answer}");
        assert_eq!(admins.other.get(&admins.mallory).json()["role"], "MEMBER");
    });
}

#[test]
fn role_change_revokes_step_up_tokens() {
    on_both(|server| {
        let admins = Admins::new(server);
        let token = server.proof(&admins.browser, "USER_ADMIN_CHANGE");
        admins.change(server, &json!({ "role": "MEMBER" }));
        admins.change(server, &json!({ "role": "ADMIN" }));
        let reused = admins.browser.with("X-StepUp-Token", &token);
        let answer = reused.send("PATCH", &admins.mallory, Some(&json!({ "role": "MEMBER" })));
        assert_eq!((answer.status, &answer.json()["reason"]), (401, &json!("REVOKED")), "{}", answer.text);
    });
}

#[test]
fn disabled_administrator_writes_nothing() {
    on_both(|server| {
        let admins = Admins::new(server);
        let token = server.proof(&admins.browser, "USER_ADMIN_CHANGE");
        let enable = json!({ "active": true });
        let enabling =
            PausedRequest::by(server, &admins.browser, Some(&token), "PATCH", &admins.mallory, &enable);
        let creating =
            PausedRequest::by(server, &admins.browser, None, "POST", "/api/settings/webhooks", &webhook());
        admins.change(server, &json!({ "active": false }));
        is(enabling.finish(), 401, "ACCOUNT_DISABLED");
        is(creating.finish(), 401, "ACCOUNT_DISABLED");
        assert_eq!(admins.other.get(&admins.mallory).json()["active"], false);
        assert_eq!(admins.webhooks(), 0);
    });
}

#[test]
fn revoked_session_writes_nothing() {
    on_both(|server| {
        let admins = Admins::new(server);
        let request =
            PausedRequest::by(server, &admins.browser, None, "POST", "/api/settings/webhooks", &webhook());
        let sessions = format!("{}/sessions", admins.mallory);
        assert_eq!(admins.other.delete(&sessions).status, 200);
        is(request.finish(), 401, "SESSION_REVOKED");
        assert_eq!(admins.webhooks(), 0);
    });
}

#[test]
fn revoked_tokens_write_and_read_nothing() {
    on_both(|server| {
        let admins = Admins::new(server);
        let scopes = json!({ "name": "ci", "scopes": ["admin:tenant"] });
        let made = server.proved(&admins.browser, "PAT_MINT_ADMIN").post("/api/me/tokens", &scopes).json();
        let pat = format!("Authorization: Bearer {}", made["token"].as_str().unwrap());
        let by_pat = PausedRequest::begin(
            server,
            "POST",
            "/api/settings/webhooks",
            &pat,
            "application/json",
            &webhook(),
        );
        let revoked = admins.browser.delete(&format!("/api/me/tokens/{}", made["id"].as_str().unwrap()));
        assert_eq!(revoked.status, 200);
        is(by_pat.finish(), 401, "UNAUTHENTICATED");
        assert_eq!(admins.webhooks(), 0);

        let scim = format!("Authorization: Bearer {}", admins.tenant.token);
        let begin = |path: &str, body: &Value| {
            PausedRequest::begin(server, "POST", path, &scim, "application/scim+json", body)
        };
        let creating = begin("/api/scim/v2/Users", &ada());
        let searching = begin("/api/scim/v2/Users/.search", &json!({ "filter": "userName pr" }));
        let people = admins.other.get("/api/people").json()["users"].as_array().unwrap().len();
        server.revoke(&admins.tenant);
        is(creating.finish(), 401, "UNAUTHENTICATED");
        is(searching.finish(), 401, "UNAUTHENTICATED");
        assert_eq!(admins.other.get("/api/people").json()["users"].as_array().unwrap().len(), people);
    });
}

#[test]
fn caller_blocked_meanwhile_cannot_add_their_own_address() {
    on_both(|server| {
        let admins = Admins::new(server);
        let own = json!({ "cidr": "127.0.0.1", "label": "mine" });
        let path = "/api/settings/network-policy/rules";
        let token = server.proof(&admins.browser, "NETWORK_POLICY_CHANGE");
        let request = PausedRequest::by(server, &admins.browser, Some(&token), "POST", path, &own);
        let rule = json!({ "cidr": "198.51.100.0/24", "label": "office", });
        let proved = server.proved(&admins.other, "NETWORK_POLICY_CHANGE");
        assert_eq!(proved.post(path, &rule).status, 200);
        let policy = json!({
            "mode": "ALLOWLIST",
            "enforcement": { "SIGN_IN": true, "DASHBOARD": true, "API": true },
            "adminBypass": false,
            "acknowledge": ["CALLER_NOT_COVERED"],
        });
        let proved = server.proved(&admins.other, "NETWORK_POLICY_CHANGE");
        let set = proved.put("/api/settings/network-policy", &policy);
        assert_eq!(set.status, 200, "{}", set.text);
        is(request.finish(), 403, "NETWORK_POLICY_BLOCKED");
    });
}

#[test]
fn session_that_the_policy_no_longer_accepts_writes_nothing() {
    on_both(|server| {
        let admins = Admins::new(server);
        let request =
            PausedRequest::by(server, &admins.browser, None, "POST", "/api/settings/webhooks", &webhook());
        server.policy(&admins.tenant, |policy| policy.sign_in_mode = SignInMode::SsoRequired);
        is(request.finish(), 403, "SSO_REQUIRED");
        server.policy(&admins.tenant, |policy| policy.sign_in_mode = SignInMode::SsoAllowed);
        assert_eq!(admins.webhooks(), 0);
    });
}

#[test]
fn demoted_administrator_does_not_keep_the_bypass_of_the_network_policy() {
    on_both(|server| {
        let admins = Admins::new(server);
        let rule = json!({ "cidr": "198.51.100.0/24", "label": "office" });
        let proved = server.proved(&admins.other, "NETWORK_POLICY_CHANGE");
        assert_eq!(proved.post("/api/settings/network-policy/rules", &rule).status, 200);
        let policy = json!({
            "mode": "ALLOWLIST",
            "enforcement": { "SIGN_IN": true, "DASHBOARD": true, "API": false },
            "adminBypass": true,
        });
        let proved = server.proved(&admins.other, "NETWORK_POLICY_CHANGE");
        let set = proved.put("/api/settings/network-policy", &policy);
        assert_eq!(set.status, 200, "{}", set.text);
        let body = json!({ "displayName": "Mallory" });
        let request = PausedRequest::by(server, &admins.browser, None, "PATCH", "/api/me", &body);
        admins.change(server, &json!({ "role": "MEMBER" }));
        is(request.finish(), 403, "NETWORK_POLICY_BLOCKED");
    });
}
