//! The network policy.

mod changes;
mod decisions;

use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Answer, Browser, Server, Tenant};

const POLICY: &str = "/api/settings/network-policy";
const RULES: &str = "/api/settings/network-policy/rules";
const TEST: &str = "/api/settings/network-policy/test";
const OFFICE: &str = "203.0.113.7";
const HOME: &str = "198.51.100.7";

/// Runs a test on servers behind a trusted proxy.
fn behind_a_proxy(test: impl Fn(&Server, &dyn Fn(&str) -> Browser)) {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        let server = Server::start(kind, &[("trusted_proxies", "127.0.0.1")]);
        test(&server, &|from| server.browser().with("X-Forwarded-For", from));
    }
}

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

/// Returns an enforced policy on all surfaces, with these changed members.
#[expect(clippy::needless_pass_by_value, reason = "written where it is called")]
fn on(admin_bypass: bool, more: Value) -> Value {
    let enforcement = json!({ "SIGN_IN": true, "DASHBOARD": true, "API": true });
    let mut body = json!({ "mode": "ALLOWLIST", "enforcement": enforcement, "adminBypass": admin_bypass });
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    body
}

/// Returns an administrator's token client, which needs no step-up.
fn program(server: &Server, tenant: &Tenant, from: &str) -> Browser {
    let admin = server.person(tenant, &format!("program@{}.example", tenant.id.key()), Role::Admin);
    let raw = server.write(&tenant.id, async move |ctx, tx| {
        let scopes = vec![tokens::Scope::AdminTenant, tokens::Scope::ReadProfile];
        let new = tokens::pat::NewPat { name: "program".into(), scopes, expires_in_days: None };
        Ok(tokens::pat::mint(ctx, tx, &admin.id, new).await.unwrap().1)
    });
    let header = format!("Bearer {}", raw.expose());
    server.browser().with("Authorization", &header).with("X-Forwarded-For", from)
}
