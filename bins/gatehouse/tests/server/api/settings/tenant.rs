//! The tenant's name.

use directory::Role;
use serde_json::json;

use crate::support::on_both;

const PATH: &str = "/api/settings/tenant";

#[test]
fn administrator_renames_the_tenant() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let before = admin.get(PATH).json();
        assert_eq!((&before["slug"], &before["id"]), (&json!("acme"), &json!(tenant.id.to_string())));
        let rename = |name: &str| admin.send("PATCH", PATH, Some(&json!({ "name": name })));
        for wrong in ["", " ", "a\u{7}b", &"x".repeat(201)] {
            assert_eq!(rename(wrong).status, 400, "{wrong:?}");
        }
        let renamed = rename("  Acme <Ltd> ").json();
        assert_eq!((&renamed["name"], &renamed["slug"]), (&json!("Acme <Ltd>"), &json!("acme")));
        assert_eq!(rename("Acme <Ltd>").status, 200);
        let entry = server.entry(&tenant, "ACCOUNT_TENANT_RENAMED");
        assert!(entry.metadata.contains("Acme <Ltd>"), "one entry, though asked twice: {}", entry.metadata);
        assert_eq!(admin.get("/api/me").json()["tenant"]["name"], "Acme <Ltd>");
        let page = admin.with("Accept", "text/html").get("/settings").text;
        assert!(page.contains("Acme &#60;Ltd&#62;") && !page.contains("Acme <Ltd>"), "escaped");
        // A neighbour keeps its name. Members may not rename.
        let other = server.tenant("other");
        let (_, neighbour) = server.signed_in(&other, "other@example.com", Role::Admin);
        assert_eq!(neighbour.get(PATH).json()["name"], "other");
        let (_, member) = server.signed_in(&tenant, "member@example.com", Role::Member);
        assert_eq!(member.send("PATCH", PATH, Some(&json!({ "name": "Mine" }))).status, 403);
    });
}
