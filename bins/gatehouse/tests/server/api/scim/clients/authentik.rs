//! authentik: reads the capabilities strictly, and sends PUT for every update.

use serde_json::json;

use super::{GROUPS, USERS};
use crate::support::on_both;

#[test]
fn authentik_reads_capabilities_and_replaces_users() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let config = scim.get("/api/scim/v2/ServiceProviderConfig").json();
        // Without these two numbers it silently disables PATCH and filters.
        assert!(config["bulk"]["maxOperations"].is_u64() && config["bulk"]["maxPayloadSize"].is_u64());
        assert_eq!(
            (&config["patch"]["supported"], &config["filter"]["supported"]),
            (&json!(true), &json!(true))
        );

        let user = json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
            "userName": "akadmin", "externalId": "5f7b", "active": true, "displayName": "authentik Default Admin",
            "name": { "formatted": "authentik Default Admin", "givenName": "authentik", "familyName": "Default Admin" },
            "emails": [{ "value": "admin@example.com", "type": "other", "primary": true }],
            "photos": [{ "value": "https://authentik.example/static/avatar.png", "type": "photo" }],
        });
        let made = scim.post(USERS, &user);
        assert_eq!(made.status, 201);
        let path = format!("{USERS}/{}", made.json()["id"].as_str().unwrap());
        let mut changed = user.clone();
        changed["id"] = made.json()["id"].clone();
        changed["displayName"] = json!("Changed");
        let put = scim.put(&path, &changed);
        assert_eq!((put.status, &put.json()["displayName"]), (200, &json!("Changed")));

        let group = json!({ "displayName": "authentik Admins", "externalId": "g1", "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"] });
        let group = scim.post(GROUPS, &group).json();
        let path = format!("{GROUPS}/{}", group["id"].as_str().unwrap());
        let add = json!([{ "op": "add", "path": "members", "value": [{ "value": made.json()["id"] }] }]);
        assert_eq!(scim.operations(&path, &add).json()["members"][0]["value"], made.json()["id"]);
        let remove =
            json!([{ "op": "remove", "path": "members", "value": [{ "value": made.json()["id"] }] }]);
        assert_eq!(scim.operations(&path, &remove).json()["members"], json!(null));
    });
}
