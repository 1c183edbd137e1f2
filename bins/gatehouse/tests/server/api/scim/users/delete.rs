use serde_json::json;

use super::USERS;
use crate::support::{ada, on_both};

#[test]
fn deleted_user_is_gone_and_its_names_can_be_reused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let made = tenant.scim.post(USERS, &ada()).json();
        let path = format!("{USERS}/{}", made["id"].as_str().unwrap());
        let group = json!({ "displayName": "Engines", "members": [{ "value": made["id"] }] });
        let group = tenant.scim.post("/api/scim/v2/Groups", &group).json();

        let answer = tenant.scim.delete(&path);
        assert_eq!((answer.status, answer.text.as_str()), (204, ""));
        let entry = server.entry(&tenant, "ACCOUNT_USER_DELETED");
        assert_eq!(
            (entry.resource_id.as_str(), entry.metadata.as_str()),
            (made["id"].as_str().unwrap(), "{}")
        );

        assert_eq!(tenant.scim.get(&path).status, 404);
        assert_eq!(tenant.scim.delete(&path).status, 404, "again");
        assert_eq!(tenant.scim.put(&path, &ada()).status, 404);
        let patch = json!([{ "op": "replace", "path": "active", "value": true }]);
        assert_eq!(tenant.scim.operations(&path, &patch).status, 404);
        for filter in
            ["", "?filter=userName+eq+%22ada@example.com%22", "?filter=emails+eq+%22ada@example.com%22"]
        {
            assert_eq!(tenant.scim.get(&format!("{USERS}{filter}")).json()["totalResults"], 0, "{filter}");
        }
        let group = tenant.scim.get(&format!("/api/scim/v2/Groups/{}", group["id"].as_str().unwrap()));
        assert_eq!(group.json()["members"], json!(null), "the user is removed from groups");

        let again = tenant.scim.post(USERS, &ada());
        assert_eq!(again.status, 201);
        assert_ne!(again.json()["id"], made["id"]);
    });
}
