//! Microsoft Entra, with default settings and with `aadOptscim062020`.

use serde_json::{Value, json};

use super::{ENTERPRISE, GROUPS, USERS};
use crate::support::{Caller, Tenant, on_both};

const PATCH_OP: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

fn new_user() -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
        "userName": "Test_User_ab6490ee-1e48-479e-a20b-2d77186b5dd1",
        "active": true,
        "emails": [{ "primary": true, "type": "work", "value": "Test_User_fd0ea19b@testuser.com" }],
        "meta": { "resourceType": "User" },
        "name": { "formatted": "givenName familyName", "familyName": "familyName", "givenName": "givenName" },
        "roles": [],
    })
}

fn made(tenant: &Tenant) -> (String, Value) {
    let made = tenant.scim.post(USERS, &new_user());
    assert_eq!(made.status, 201, "{}", made.text);
    (format!("{USERS}/{}", made.json()["id"].as_str().unwrap()), made.json())
}

/// Sends a PATCH with `Operations` before `schemas`, as Entra does.
fn patch(scim: &Caller, path: &str, operations: &Value) -> Value {
    let answer = scim.patch(path, &json!({ "Operations": operations, "schemas": [PATCH_OP] }));
    assert!(matches!(answer.status, 200 | 204), "{}", answer.text);
    answer.json()
}

#[test]
fn entra_looks_up_users_before_creating_them() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, user) = made(&tenant);
        for filter in [
            "userName+eq+%22test_user_ab6490ee-1e48-479e-a20b-2d77186b5dd1%22",
            "externalId+eq+%220a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef%22",
            "emails[type+eq+%22work%22].value+eq+%22Test_User_fd0ea19b@testuser.com%22",
            "Emails[Type+Eq+%22work%22]+and+UserName+sw+%22test%22",
        ] {
            let found = tenant.scim.get(&format!("{USERS}?filter={filter}")).json();
            assert_eq!((&found["totalResults"], &found["Resources"][0]), (&json!(1), &user), "{filter}");
        }
        let exact = tenant
            .scim
            .get(&format!("{USERS}?filter=externalId+eq+%220A21F0F2-8D2A-4F8E-BF98-7363C4AED4EF%22"));
        assert_eq!(exact.json()["totalResults"], 0, "externalId is case-exact");
        let none = tenant.scim.get(&format!("{USERS}?filter=userName+eq+%22non-existent%20user%22")).json();
        assert_eq!((&none["totalResults"], &none["Resources"]), (&json!(0), &json!([])));
    });
}

#[test]
fn entra_sends_one_operation_per_attribute_by_default() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (path, _) = made(&tenant);
        let user = patch(
            &tenant.scim,
            &path,
            &json!([
                { "op": "Replace", "path": "emails[type eq \"work\"].value", "value": "updatedEmail@microsoft.com" },
                { "op": "Replace", "path": "name.familyName", "value": "updatedFamilyName" },
                { "op": "Add", "path": "phoneNumbers[type eq \"mobile\"].value", "value": "555-1234" },
                { "op": "Add", "path": "addresses[type eq \"work\"].streetAddress", "value": "1 Microsoft Way" },
                { "op": "Add", "path": "addresses[type eq \"work\"].locality", "value": "Redmond" },
                { "op": "Add", "path": "addresses[type eq \"work\"].Primary", "value": "True" },
                { "op": "Add", "path": format!("{ENTERPRISE}:department"), "value": "R&D" },
                { "op": "Add", "path": format!("{ENTERPRISE}:manager"), "value": "usr_manager" },
                { "op": "Replace", "path": "displayName", "value": [{ "$ref": null, "value": "Shown" }] },
                { "op": "Add", "path": "urn:ietf:params:scim:schemas:extension:CustomExtension:2.0:User:tag", "value": "x" },
            ]),
        );
        assert_eq!(
            user["emails"],
            json!([{ "value": "updatedEmail@microsoft.com", "type": "work", "primary": true }])
        );
        assert_eq!(user["name"]["familyName"], "updatedFamilyName");
        assert_eq!(user["phoneNumbers"], json!([{ "value": "555-1234", "type": "mobile" }]));
        let address = json!([{ "streetAddress": "1 Microsoft Way", "locality": "Redmond", "type": "work", "primary": true }]);
        assert_eq!(user["addresses"], address, "all fields are in one value");
        assert_eq!(user[ENTERPRISE], json!({ "department": "R&D", "manager": { "value": "usr_manager" } }));
        assert_eq!(user["displayName"], "Shown");

        let user = patch(
            &tenant.scim,
            &path,
            &json!([
                { "op": "Replace", "path": format!("{ENTERPRISE}:Manager.Value"), "value": "usr_other" },
                { "op": "Remove", "path": format!("{ENTERPRISE}:department") },
                { "op": "Remove", "path": "phoneNumbers[type eq \"mobile\"].value" },
            ]),
        );
        assert_eq!(user[ENTERPRISE], json!({ "manager": { "value": "usr_other" } }));
        assert_eq!(user["phoneNumbers"], Value::Null);

        let user =
            patch(&tenant.scim, &path, &json!([{ "op": "Replace", "path": "active", "value": "False" }]));
        assert_eq!(user["active"], false);
        assert_eq!(tenant.scim.get(&path).json()["active"], false, "inactive users are returned");
        assert_eq!(tenant.scim.delete(&path).status, 204, "a hard delete follows after thirty days");
        assert_eq!(tenant.scim.get(&path).status, 404);
    });
}

#[test]
fn entra_with_flag_sends_one_object_with_dotted_and_qualified_keys() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (path, _) = made(&tenant);
        let user = patch(
            &tenant.scim,
            &path,
            &json!([{ "op": "replace", "value": {
            "displayName": "Bjfe",
            "name.givenName": "Kkom",
            "emails[type eq \"work\"].value": "kkom@testuser.com",
            format!("{ENTERPRISE}:department"): "Woep",
            format!("{ENTERPRISE}:employeeNumber"): "7",
            "active": false,
        } }]),
        );
        assert_eq!(user["displayName"], "Bjfe");
        assert_eq!(
            user["name"],
            json!({ "formatted": "givenName familyName", "familyName": "familyName", "givenName": "Kkom" })
        );
        assert_eq!(user["emails"][0]["value"], "kkom@testuser.com");
        assert_eq!(user[ENTERPRISE], json!({ "employeeNumber": "7", "department": "Woep" }));
        assert_eq!(user["active"], false);
        assert!(user.get("name.givenName").is_none(), "dotted keys are paths");
    });
}

#[test]
fn entra_creates_and_fills_a_group_and_reads_it_without_members() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, user) = made(&tenant);
        let group = json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group", "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
            "externalId": "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159", "displayName": "displayName",
            "meta": { "resourceType": "Group" },
        });
        let made = tenant.scim.post(GROUPS, &group);
        assert_eq!(made.status, 201);
        let id = made.json()["id"].as_str().unwrap().to_owned();
        let path = format!("{GROUPS}/{id}");
        let read = tenant.scim.get(&format!("{path}?excludedAttributes=members")).json();
        assert_eq!((&read["displayName"], &read["members"]), (&json!("displayName"), &Value::Null));
        let found = tenant
            .scim
            .get(&format!("{GROUPS}?excludedAttributes=members&filter=displayName+eq+%22displayName%22"));
        assert_eq!(found.json()["totalResults"], 1);

        patch(
            &tenant.scim,
            &path,
            &json!([{ "op": "Add", "path": "members", "value": [{ "$ref": null, "value": user["id"] }] }]),
        );
        let asked = format!(
            "{GROUPS}?filter=id+eq+%22{id}%22+and+members+eq+{}&excludedAttributes=members",
            user["id"].to_string().replace('"', "%22")
        );
        assert_eq!(tenant.scim.get(&asked).json()["totalResults"], 1, "Entra checks the membership");
        patch(
            &tenant.scim,
            &path,
            &json!([{ "op": "Replace", "path": "displayName", "value": "1879db59-3bdf" }]),
        );
        let left = patch(
            &tenant.scim,
            &path,
            &json!([{ "op": "Remove", "path": "members", "value": [{ "$ref": null, "value": user["id"] }] }]),
        );
        assert_eq!((&left["displayName"], &left["members"]), (&json!("1879db59-3bdf"), &Value::Null));
        assert_eq!(tenant.scim.delete(&path).status, 204);
    });
}
