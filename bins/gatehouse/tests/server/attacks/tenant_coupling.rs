//! The administrator of another tenant creates accounts with the address of a victim.

use directory::Role;
use serde_json::json;
use store::testing::Kind;

use crate::{
    api::auth::enrolment::enrol_totp,
    support::{Browser, Server, Tenant, code, on_both},
};

const VICTIM: &str = "victim@corp.example";

/// Runs a test on servers behind a trusted proxy.
fn behind_a_proxy(test: impl Fn(&Server, &dyn Fn(&str) -> Browser)) {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        let server = Server::start(kind, &[("trusted_proxies", "127.0.0.1")]);
        test(&server, &|from| server.browser().with("X-Forwarded-For", from));
    }
}

/// Counts the sign-ins of the victim's address in a tenant's audit log.
fn sign_ins(server: &Server, tenant: &Tenant) -> usize {
    let entries = server.entries(tenant);
    entries.iter().filter(|entry| entry.action.starts_with("ACCOUNT_SIGN_IN_")).count()
}

#[test]
fn account_without_a_credential_learns_nothing() {
    behind_a_proxy(|server, from| {
        let (corp, hostile) = (server.tenant("corp"), server.tenant("hostile"));
        let victim = server.person(&corp, VICTIM, Role::Member);
        let bait = json!({ "userName": VICTIM, "emails": [{ "value": VICTIM, "primary": true }] });
        assert_eq!(hostile.scim.post("/api/scim/v2/Users", &bait).status, 201);
        let browser = from("198.51.100.1");
        assert_eq!(browser.sign_in(VICTIM, "wrong").status, 401);
        assert_eq!(browser.sign_in(VICTIM, victim.password).json()["status"], "SIGNED_IN");
        assert!(sign_ins(server, &corp) >= 2);
        assert_eq!(sign_ins(server, &hostile), 0);
    });
}

#[test]
fn account_with_another_password_does_not_see_the_right_one() {
    behind_a_proxy(|server, from| {
        let (corp, hostile) = (server.tenant("corp"), server.tenant("hostile"));
        let victim = server.person(&corp, VICTIM, Role::Member);
        let bait = server.person(&hostile, VICTIM, Role::Member);
        server.change_password(&hostile, &bait.id, VICTIM, "what the attacker has chosen");
        let browser = from("198.51.100.1");
        assert_eq!(browser.sign_in(VICTIM, victim.password).json()["status"], "SIGNED_IN");
        assert_eq!(browser.get("/api/me").json()["tenant"]["slug"], "corp");
        assert_eq!(sign_ins(server, &hostile), 0, "only the other tenant records the sign-in");
        // If no password matches, every tenant with such an account records the attempt.
        assert_eq!(browser.sign_in(VICTIM, "wrong").status, 401);
        assert_eq!(sign_ins(server, &hostile), 1);
    });
}

#[test]
fn known_addresses_stay_protected() {
    behind_a_proxy(|server, from| {
        let (corp, hostile) = (server.tenant("corp"), server.tenant("hostile"));
        let victim = server.person(&corp, VICTIM, Role::Member);
        let known = from("198.51.100.1");
        assert_eq!(known.sign_in(VICTIM, victim.password).status, 200);
        let bait = server.person(&hostile, VICTIM, Role::Member);
        server.change_password(&hostile, &bait.id, VICTIM, "what the attacker has chosen");
        for host in 1..=49 {
            assert_eq!(from(&format!("203.0.113.{host}")).sign_in(VICTIM, "wrong").status, 401, "{host}");
        }
        assert_eq!(
            from("203.0.113.50").sign_in(VICTIM, "wrong").status,
            429,
            "unknown addresses are locked out"
        );
        assert_eq!(known.sign_in(VICTIM, victim.password).status, 200, "the victim is not");
    });
}

#[test]
fn many_accounts_with_one_address_do_not_hide_any() {
    behind_a_proxy(|server, from| {
        // Tenants are found in the order of their IDs, and these tenants are older.
        for number in 0..8 {
            let hostile = server.tenant(&format!("hostile{number}"));
            let bait = server.person(&hostile, VICTIM, Role::Member);
            server.change_password(&hostile, &bait.id, VICTIM, "what the attacker has chosen");
        }
        let corp = server.tenant("corp");
        let victim = server.person(&corp, VICTIM, Role::Member);
        let browser = from("198.51.100.1");
        assert_eq!(browser.sign_in(VICTIM, victim.password).json()["status"], "SIGNED_IN");
        assert_eq!(browser.get("/api/me").json()["tenant"]["slug"], "corp");
    });
}

#[test]
fn hash_with_another_salt_is_replaced_before_the_second_factor() {
    on_both(|server| {
        // Another tenant has chosen the salt of the new address.
        let (corp, other) = (server.tenant("corp"), server.tenant("other"));
        let bait = server.person(&other, "new@corp.example", Role::Member);
        server.change_password(&other, &bait.id, "new@corp.example", "what the attacker has chosen");
        let (victim, browser) = server.signed_in(&corp, "old@corp.example", Role::Member);
        let secret = enrol_totp(server, &browser);
        let (_, admin) = server.signed_in(&corp, "admin@corp.example", Role::Admin);
        let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
        let change = json!({ "email": "new@corp.example" });
        let path = format!("/api/settings/users/{}", victim.id);
        assert_eq!(proved.send("PATCH", &path, Some(&change)).status, 200);
        let in_corp = json!({ "email": "new@corp.example", "password": victim.password, "tenant": "corp" });
        let without_tenant = json!({ "email": "new@corp.example", "password": victim.password });
        for body in [in_corp, without_tenant] {
            let browser = server.browser();
            let asked = browser.post("/api/auth/sign-in", &body);
            assert_eq!(asked.json()["status"], "MFA_REQUIRED", "{}", asked.text);
            server.env.advance(std::time::Duration::from_secs(30));
            let verified = browser.verify(&asked.json()["ticket"], "TOTP", &code(&secret, server, 0));
            assert_eq!(verified.json()["status"], "SIGNED_IN", "{}", verified.text);
        }
    });
}

#[test]
fn sign_in_works_after_an_address_change() {
    on_both(|server| {
        let corp = server.tenant("corp");
        let victim = server.person(&corp, "old@corp.example", Role::Member);
        let (_, admin) = server.signed_in(&corp, "admin@corp.example", Role::Admin);
        let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
        let change = json!({ "email": "new@corp.example" });
        let path = format!("/api/settings/users/{}", victim.id);
        assert_eq!(proved.send("PATCH", &path, Some(&change)).status, 200);
        let browser = server.browser();
        assert_eq!(browser.sign_in("new@corp.example", victim.password).json()["status"], "SIGNED_IN");
    });
}
