//! The attacker sends NUL, the one character that PostgreSQL cannot store in text.

use directory::Role;
use serde_json::json;

use crate::support::on_both;

#[test]
fn nul_in_names_and_ids_is_treated_as_unknown() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let odd = json!({ "tenant": "a\0b", "email": "ada@example.com", "password": "x" });
        assert_eq!(server.browser().post("/api/auth/sign-in", &odd).status, 401);
        let named = json!({ "tenant": "a\0b" });
        let providers = server.browser().post("/api/auth/sign-in/providers", &named);
        assert_eq!((providers.status, providers.json()), (200, json!({ "providers": [] })));
        let webhook = json!({ "name": "mine", "url": "https://hooks.example.com/" });
        let id = admin.post("/api/settings/webhooks", &webhook).json()["id"].as_str().unwrap().to_owned();
        for path in [
            "/api/settings/audit-log/%00/proof".to_owned(),
            format!("/api/settings/webhooks/{id}/deliveries/%00/payload"),
        ] {
            assert_eq!(admin.get(&path).status, 404, "{path}");
        }
        let retry = format!("/api/settings/webhooks/{id}/deliveries/dlv_%00/retry");
        assert_eq!(admin.post(&retry, &json!({})).status, 404);
    });
}
