//! Elements without a value: an email without an address must be neither stored nor returned.

use serde_json::{Value, json};

use crate::support::{Server, on_both};

const USERS: &str = "/api/scim/v2/Users";

#[test]
fn elements_without_a_value_are_not_stored() {
    on_both(|server: &Server| {
        let tenant = server.tenant("acme");
        let work = json!({ "value": "ada@example.com", "type": "work", "primary": true });
        let noise = || json!([{ "type": "home" }, { "type": "other", "primary": true }, {}, work]);
        let made = tenant.scim.post(
            USERS,
            &json!({ "userName": "ada", "emails": noise(), "phoneNumbers": [{ "type": "mobile" }] }),
        );
        assert_eq!(made.status, 201, "{}", made.text);
        let path = format!("{USERS}/{}", made.json()["id"].as_str().unwrap());
        let read = || tenant.scim.get(&path).json();
        let only_work = |user: &Value| {
            assert_eq!(user["emails"], json!([work]), "{user}");
            assert_eq!(user.get("phoneNumbers"), None, "{user}");
        };
        only_work(&made.json());
        only_work(&read());

        let put = json!({ "userName": "ada", "emails": noise(), "phoneNumbers": [{ "display": "x" }] });
        assert_eq!(tenant.scim.put(&path, &put).status, 200);
        only_work(&read());

        for operation in [
            json!({ "op": "add", "path": "emails", "value": [{ "type": "home", "primary": true }] }),
            json!({ "op": "add", "value": { "emails": [{ "type": "home", "display": "x" }] } }),
            json!({ "op": "replace", "value": { "emails": noise() } }),
            json!({ "op": "replace", "path": "emails", "value": noise() }),
            json!({ "op": "add", "path": "emails[type eq \"home\"]", "value": { "display": "x" } }),
            json!({ "op": "add", "path": "emails[type eq \"home\"].display", "value": "x" }),
            json!({ "op": "add", "path": "phoneNumbers[type eq \"mobile\"].display", "value": "x" }),
        ] {
            let patched = tenant.scim.operations(&path, &json!([operation]));
            assert!(patched.status == 200 || patched.status == 204, "{operation}: {}", patched.text);
            only_work(&read());
        }

        // Entra builds one element with several operations; once it has a value it is stored.
        let built = json!([
            { "op": "Add", "path": "emails[type eq \"home\"].display", "value": "Home" },
            { "op": "Add", "path": "emails[type eq \"home\"].value", "value": "home@example.com" },
        ]);
        assert_eq!(tenant.scim.operations(&path, &built).status, 200);
        let home = json!({ "value": "home@example.com", "display": "Home", "type": "home" });
        assert_eq!(read()["emails"][1], home);
        // The elements to remove may still be identified by any of their attributes.
        let removed = json!([{ "op": "remove", "path": "emails", "value": [{ "type": "home" }] }]);
        assert_eq!(tenant.scim.operations(&path, &removed).status, 200);
        only_work(&read());
    });
}

#[test]
fn a_path_that_names_an_unknown_attribute_changes_nothing() {
    on_both(|server: &Server| {
        let tenant = server.tenant("acme");
        let made = tenant.scim.post(USERS, &json!({ "userName": "ada", "title": "Countess" })).json();
        let path = format!("{USERS}/{}", made["id"].as_str().unwrap());
        for name in [
            "shoeSize",
            "name.shoeSize",
            "emails.shoeSize",
            "emails[type eq \"work\"].shoeSize",
            "shoes[size eq 38].colour",
            "urn:example:params:scim:schemas:extension:2.0:User:shoeSize",
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:shoeSize",
        ] {
            for operation in ["add", "replace", "remove"] {
                let change = json!([{ "op": operation, "path": name, "value": "x" }]);
                let patched = tenant.scim.operations(&path, &change);
                assert_eq!(patched.status, 200, "{operation} {name}: {}", patched.text);
                assert_eq!(patched.json(), made, "{operation} {name}");
            }
        }
        assert_eq!(tenant.scim.get(&path).json(), made);
    });
}
