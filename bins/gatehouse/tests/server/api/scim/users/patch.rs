use serde_json::json;

use super::USERS;
use crate::support::{ada, on_both};

#[test]
fn patch_changes_only_the_named_attributes() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let made = tenant.scim.post(USERS, &ada()).json();
        let path = format!("{USERS}/{}", made["id"].as_str().unwrap());
        let answer = tenant.scim.operations(
            &path,
            &json!([
                { "op": "replace", "path": "name.givenName", "value": "Augusta" },
                { "op": "add", "path": "emails[type eq \"home\"].value", "value": "ada@home.example" },
                { "op": "remove", "path": "externalId" },
                { "op": "replace", "path": "active", "value": false },
            ]),
        );
        insta::allow_duplicates! {
            insta::assert_snapshot!(answer.shown(), @r#"200 {"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"id":"[id]","userName":"Ada@Example.com","active":false,"name":{"familyName":"Lovelace","givenName":"Augusta"},"emails":[{"value":"ada@example.com","type":"work","primary":true},{"value":"ada@home.example","type":"home"}],"meta":{"resourceType":"User","created":[time],"lastModified":[time],"location":"[base]/api/scim/v2/Users/[id]"}}"#);
        }
        assert_eq!(tenant.scim.get(&path).json(), answer.json());
        let found = tenant.scim.get(&format!("{USERS}?filter=emails.value+eq+%22ADA@home.example%22"));
        assert_eq!(found.json()["Resources"], json!([answer.json()]), "the added value can be searched");
        assert_eq!(
            server.entry(&tenant, "ACCOUNT_USER_UPDATED").metadata,
            r#"{"changed":["externalId","name","emails"]}"#
        );
        server.entry(&tenant, "ACCOUNT_USER_DEACTIVATED");
    });
}

#[test]
fn patch_is_atomic() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let made = tenant.scim.post(USERS, &ada()).json();
        tenant.scim.post(USERS, &json!({ "userName": "bob" }));
        let path = format!("{USERS}/{}", made["id"].as_str().unwrap());
        let entries = server.entries(&tenant).len();
        for (second, status, scim_type) in [
            (json!({ "op": "replace", "path": "active", "value": "maybe" }), 400, "invalidValue"),
            (
                json!({ "op": "replace", "path": "emails[type co \"x\"].value", "value": "a@b" }),
                400,
                "noTarget",
            ),
            (json!({ "op": "replace", "path": "id", "value": "x" }), 400, "mutability"),
            (json!({ "op": "replace", "path": "emails[", "value": "x" }), 400, "invalidFilter"),
            (json!({ "op": "replace", "path": "title!", "value": "x" }), 400, "invalidPath"),
            (json!({ "op": "jump", "path": "title", "value": "x" }), 400, "invalidSyntax"),
            (json!({ "op": "replace", "path": "userName", "value": "BOB" }), 409, "uniqueness"),
        ] {
            let first = json!({ "op": "replace", "path": "title", "value": "Countess" });
            let answer = tenant.scim.operations(&path, &json!([first, second]));
            assert_eq!((answer.status, &answer.json()["scimType"]), (status, &json!(scim_type)), "{second}");
        }
        assert_eq!(tenant.scim.get(&path).json(), made);
        assert_eq!(server.entries(&tenant).len(), entries);
    });
}

#[test]
fn patch_without_changes_records_nothing() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let made = tenant.scim.post(USERS, &ada()).json();
        let path = format!("{USERS}/{}", made["id"].as_str().unwrap());
        let entries = server.entries(&tenant).len();
        for operations in [
            json!([{ "op": "replace", "value": { "active": true, "name.givenName": "Ada" } }]),
            json!([{ "op": "remove", "path": "emails[type eq \"fax\"]" }]),
            json!([{ "op": "add", "path": "shoeSize", "value": 42 }]),
        ] {
            let answer = tenant.scim.operations(&path, &operations);
            assert_eq!((answer.status, answer.json()), (200, made.clone()), "{operations}");
        }
        assert_eq!(server.entries(&tenant).len(), entries);
    });
}
