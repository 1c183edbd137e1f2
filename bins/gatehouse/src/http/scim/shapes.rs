//! The shapes of SCIM for the API description, read from the table of attributes.

use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

fn schema(value: Value) -> RefOr<Schema> {
    serde_json::from_value(value).unwrap_or_else(|_| Schema::default().into())
}

/// A user as it is answered.
pub(super) struct ScimUser;

impl PartialSchema for ScimUser {
    fn schema() -> RefOr<Schema> {
        let mut shape = scim_core::schema::json_schema(false);
        if let Some(members) = shape.as_object_mut() {
            members.insert("example".into(), example());
        }
        schema(shape)
    }
}
impl ToSchema for ScimUser {}

/// A user as it is sent.
pub(super) struct ScimUserBody;

impl PartialSchema for ScimUserBody {
    fn schema() -> RefOr<Schema> {
        schema(scim_core::schema::json_schema(true))
    }
}
impl ToSchema for ScimUserBody {}

/// A page of users.
pub(super) struct ScimUserList;

impl PartialSchema for ScimUserList {
    fn schema() -> RefOr<Schema> {
        schema(list(&json!({ "$ref": "#/components/schemas/ScimUser" })))
    }
}
impl ToSchema for ScimUserList {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push(("ScimUser".into(), ScimUser::schema()));
    }
}

/// A list of schemas or resource types.
pub(super) struct ScimList;

impl PartialSchema for ScimList {
    fn schema() -> RefOr<Schema> {
        schema(list(&json!({ "type": "object" })))
    }
}
impl ToSchema for ScimList {}

fn list(resource: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["schemas", "totalResults", "startIndex", "itemsPerPage", "Resources"],
        "properties": {
            "schemas": { "type": "array", "items": { "type": "string" } },
            "totalResults": { "type": "integer", "minimum": 0 },
            "startIndex": { "type": "integer", "minimum": 1 },
            "itemsPerPage": { "type": "integer", "minimum": 0 },
            "Resources": { "type": "array", "items": resource },
        },
    })
}

fn example() -> Value {
    let time = "2026-01-31T09:30:00.000Z";
    let id = "usr_01jz2222222222222222222222";
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "id": id,
        "externalId": "00u1a2b3c4",
        "userName": "ada@example.com",
        "active": true,
        "name": { "familyName": "Lovelace", "givenName": "Ada" },
        "emails": [{ "value": "ada@example.com", "type": "work", "primary": true }],
        "meta": {
            "resourceType": "User",
            "created": time,
            "lastModified": time,
            "location": format!("https://gate.example.com/api/scim/v2/Users/{id}"),
        },
    })
}
