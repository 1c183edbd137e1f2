//! OneLogin: sends null for template values that are missing, and an empty User-Agent.

use serde_json::json;

use super::{ENTERPRISE, USERS};
use crate::support::on_both;

#[test]
fn null_attributes_are_ignored() {
    on_both(|server| {
        let scim = server.tenant("acme").scim.with("User-Agent", "");
        assert_eq!(
            scim.get(&format!("{USERS}?filter=userName%20eq%20%22ada%40example.com%22")).json()["totalResults"],
            0
        );
        let made = scim.post(USERS, &json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
            "userName": "ada@example.com", "externalId": null, "active": true, "title": null,
            "name": { "givenName": "Ada", "familyName": null },
            "emails": [{ "value": "ada@example.com", "type": "work", "primary": true, "display": null }, null],
            "phoneNumbers": null,
            ENTERPRISE: { "department": null, "manager": { "value": null } },
        }));
        assert_eq!(made.status, 201, "{}", made.text);
        let user = made.json();
        assert_eq!(
            (&user["name"], &user["title"], &user[ENTERPRISE]),
            (&json!({ "givenName": "Ada" }), &json!(null), &json!(null))
        );
        let path = format!("{USERS}/{}", user["id"].as_str().unwrap());
        let put = scim.put(
            &path,
            &json!({ "userName": "ada@example.com", "title": "Countess", "name": null, "active": false }),
        );
        assert_eq!(
            (put.status, &put.json()["active"], &put.json()["name"]),
            (200, &json!(false), &json!(null))
        );
        let patched =
            scim.operations(&path, &json!([{ "op": "replace", "value": { "title": null, "active": true } }]));
        assert_eq!((&patched.json()["title"], &patched.json()["active"]), (&json!(null), &json!(true)));
    });
}
