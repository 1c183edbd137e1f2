//! Descriptions of resources: `/Schemas` (RFC 7643 §7) and JSON Schema.

use scim_core::schema::{
    GROUP, GROUPS, USER, USERS, group_example, json_schema, list_schema, patch_schema, schema_resource,
    search_schema, user_example,
};
use serde_json::{Value, json};

/// Returns the attribute with this name, described for `/Schemas`.
fn described(name: &str) -> Value {
    let schema = schema_resource(&USER, "");
    let mut attributes = schema.get("attributes").unwrap().as_array().unwrap().iter();
    attributes.find(|one| one.get("name").unwrap() == name).unwrap().clone()
}

#[test]
fn group_schema_has_all_characteristics() {
    let attribute = |name: &str, kind: &str, description: &str, more: Value| {
        let mut members = json!({
            "name": name, "type": kind, "description": description, "multiValued": false, "required": false,
            "caseExact": false, "mutability": "readWrite", "returned": "default", "uniqueness": "none",
        });
        members.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        members
    };
    let reference = json!({ "caseExact": true, "mutability": "immutable", "referenceTypes": ["User"] });
    let members = [
        attribute(
            "value",
            "string",
            "ID of the user.",
            json!({ "caseExact": true, "mutability": "immutable" }),
        ),
        attribute("$ref", "reference", "URL of the user. Optional.", reference),
        attribute(
            "type",
            "string",
            "Type of the member.",
            json!({ "canonicalValues": ["User"], "mutability": "immutable" }),
        ),
    ];
    let name = json!({ "required": true, "uniqueness": "server" });
    let expected = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
        "id": "urn:ietf:params:scim:schemas:core:2.0:Group",
        "name": "Group",
        "description": "A group of users of the tenant",
        "attributes": [
            attribute("displayName", "string", "The name of the group.", name),
            attribute("members", "complex", "Members of the group.", json!({ "multiValued": true, "subAttributes": members })),
        ],
        "meta": {
            "resourceType": "Schema",
            "location": "https://x.example/scim/Schemas/urn:ietf:params:scim:schemas:core:2.0:Group",
        },
    });
    assert_eq!(schema_resource(&GROUP, "https://x.example/scim"), expected);
}

#[test]
fn user_schema_says_what_clients_may_write_and_read() {
    let password = described("password");
    assert_eq!((&password["mutability"], &password["returned"]), (&json!("writeOnly"), &json!("never")));
    let active = described("active");
    assert_eq!((&active["type"], &active["required"]), (&json!("boolean"), &json!(true)));
    assert_eq!(described("groups")["mutability"], "readOnly");
    assert_eq!(described("profileUrl")["referenceTypes"], json!(["external"]));
    assert_eq!(described("title")["referenceTypes"], Value::Null);
    let kinds = &described("emails")["subAttributes"][2];
    assert_eq!(kinds["canonicalValues"], json!(["work", "home", "other"]));
}

#[test]
fn json_schema_has_what_clients_send_or_receive() {
    let text = |max: usize, description: &str| json!({ "type": "string", "maxLength": max, "description": description });
    let member = json!({
        "type": "array",
        "description": "Members of the group.",
        "items": { "type": "object", "properties": {
            "value": text(2048, "ID of the user."),
            "$ref": text(2048, "URL of the user. Optional."),
            "type": text(2048, "Type of the member."),
        } },
    });
    let request = json_schema(&GROUPS, true);
    assert_eq!(request["required"], json!(["displayName"]));
    let properties = request["properties"].as_object().unwrap();
    let names: Vec<_> = properties.keys().map(String::as_str).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!(properties["schemas"], json!({ "type": "array", "items": { "type": "string" } }));
    assert_eq!(properties["displayName"], text(256, "The name of the group."));
    assert_eq!(properties["members"], member);
    assert_eq!(properties["externalId"]["type"], "string");

    let (request, response) = (json_schema(&USERS, true), json_schema(&USERS, false));
    assert_eq!((&request["type"], &response["type"]), (&json!("object"), &json!("object")));
    assert_eq!(request["required"], json!(["userName"]), "active has a default");
    assert_eq!(response["required"], json!(["schemas", "id"]));
    let (request, response) = (&request["properties"], &response["properties"]);
    for (name, is_sent, is_received) in
        [("id", false, true), ("meta", false, true), ("groups", false, true), ("password", true, false)]
    {
        assert_eq!((request[name].is_object(), response[name].is_object()), (is_sent, is_received), "{name}");
    }
    assert_eq!(response["active"]["type"], "boolean");
    assert_eq!(response["meta"]["properties"]["created"]["format"], "date-time");
    let manager = |of: &Value| {
        let urn = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
        of[urn]["properties"]["manager"]["properties"]["displayName"].is_object()
    };
    assert_eq!((manager(request), manager(response)), (false, true));
}

#[test]
fn path_of_a_sub_attribute_is_one_of_its_attribute() {
    let path = USERS.resolve("name.givenName").unwrap();
    assert_eq!((path.to_string(), path.whole().to_string()), ("name.givenName".into(), "name".into()));
}

#[test]
fn messages_name_their_members() {
    let names = |schema: &Value| -> Vec<String> {
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(patch_schema()["required"], json!(["Operations"]));
    let mut searched = names(&search_schema());
    searched.sort();
    let expected = ["attributes", "count", "cursor", "excludedAttributes", "filter", "schemas", "startIndex"];
    assert_eq!(searched, expected);
    let list = list_schema(&json!({ "type": "object" }));
    assert_eq!(list["required"], json!(["schemas", "totalResults", "itemsPerPage", "Resources"]));
    assert_eq!(list["properties"]["Resources"]["items"], json!({ "type": "object" }));
    for (example, kind) in [(user_example(), "User"), (group_example(), "Group")] {
        let (meta, id) = (&example["meta"], example["id"].as_str().unwrap());
        assert_eq!(meta["resourceType"], kind);
        assert!(meta["location"].as_str().unwrap().ends_with(&format!("/{kind}s/{id}")), "{meta}");
        assert!(meta["created"].is_string() && meta["lastModified"].is_string(), "{meta}");
    }
}
