//! Pages of a user.

use directory::Role;
use serde_json::json;

use super::{assert_redirect, page_client};
use crate::support::on_both;

#[test]
fn session_that_needs_a_factor_sees_only_the_enrolment_page() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        server.policy(&tenant, |policy| {
            policy.mfa.required = true;
            policy.mfa.accepted_factors = vec![credentials::FactorKind::Webauthn];
        });
        let ada = page_client(&browser);
        assert_redirect(&ada.get("/account/security"), "/auth/login?next=%2Faccount%2Fsecurity&continue=1");
        let page = ada.get("/auth/enrol?next=/account/security");
        assert_eq!(page.status, 200);
        assert!(page.text.contains("data-next=\"/account/security\""));
        assert!(page.text.contains("add-passkey") && !page.text.contains("add-app"));
        assert_eq!(page.header("cache-control"), "no-store");
    });
}

#[test]
fn security_page_shows_only_own_data_and_escapes_it() {
    on_both(|server| {
        let (acme, other) = (server.tenant("acme"), server.tenant("other"));
        let (_, bob) = server.signed_in(&other, "bob@example.com", Role::Member);
        let (_, ada) = server.signed_in(&acme, "ada@example.com", Role::Admin);
        let evil = "<script>alert(\"1\")</script>";
        ada.post("/api/me/tokens", &json!({ "name": evil, "scopes": ["read:hcm"], "expiresInDays": 9 }));
        ada.send("PATCH", "/api/me", Some(&json!({ "displayName": evil })));
        bob.post("/api/me/tokens", &json!({ "name": "of Bob", "scopes": ["read:hcm"] }));
        let page = page_client(&ada).get("/account/security");
        assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
        assert!(
            page.text.contains("&#60;script&#62;alert") && !page.text.contains("<script>"),
            "{}",
            page.text
        );
        assert!(page.text.contains(&ada.cookie("as_sid")) && page.text.contains("admin:tenant"));
        for foreign in [bob.cookie("as_sid").as_str(), "of Bob", "bob@example.com"] {
            assert!(!page.text.contains(foreign), "{foreign}");
        }
        assert!(!page_client(&bob).get("/account/security").text.contains("admin:tenant"));
        // Everything is loaded from this server only.
        for forbidden in ["style=", " onclick", "src=\"http", "href=\"http:"] {
            let ours = page.text.replace(&format!("href=\"{}", crate::support::ORIGIN), "");
            assert!(!ours.contains(forbidden), "{forbidden}");
        }
    });
}
