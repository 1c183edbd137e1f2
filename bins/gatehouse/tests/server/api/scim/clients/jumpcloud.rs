//! JumpCloud: finds by userName, creates, replaces, pushes groups, and deactivates.

use serde_json::json;

use super::{GROUPS, USERS};
use crate::support::on_both;

#[test]
fn jumpcloud_synchronizes_users_and_groups() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        // It checks the connection with a user that it deletes again.
        let probe = scim.post(USERS, &json!({ "userName": "testuser@jumpcloud.local", "active": false, "emails": [{ "type": "work", "primary": true, "value": "testuser@jumpcloud.local" }] }));
        assert_eq!(probe.status, 201);
        let path = format!("{USERS}/{}", probe.json()["id"].as_str().unwrap());
        assert_eq!(scim.delete(&path).status, 204);

        let made = scim.post(
            USERS,
            &json!({
                "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
                "userName": "ada@example.com", "displayName": "Ada", "active": true,
                "name": { "familyName": "Lovelace", "givenName": "Ada", "formatted": "Ada Lovelace" },
                "emails": [{ "type": "work", "primary": true, "value": "ada@example.com" }],
                "phoneNumbers": [{ "type": "work", "value": "1" }, { "type": "mobile", "value": "2" }],
            }),
        );
        assert_eq!(made.status, 201);
        let id = made.json()["id"].clone();
        let path = format!("{USERS}/{}", id.as_str().unwrap());
        let off = json!([{ "op": "replace", "path": "active", "value": false }]);
        assert_eq!(scim.operations(&path, &off).json()["active"], false);

        let group =
            scim.post(GROUPS, &json!({ "displayName": "JC Group", "members": [{ "value": id }] })).json();
        let path = format!("{GROUPS}/{}", group["id"].as_str().unwrap());
        let rename = json!([{ "op": "replace", "path": "displayName", "value": "Renamed" }, { "op": "replace", "path": "members", "value": [] }]);
        let renamed = scim.operations(&path, &rename).json();
        assert_eq!((&renamed["displayName"], &renamed["members"]), (&json!("Renamed"), &json!(null)));
    });
}
