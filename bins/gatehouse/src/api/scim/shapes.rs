//! SCIM schemas for the API description, read from the table of attributes.

use scim_core::schema::{GROUPS, ResourceType, USERS, json_schema};
use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

fn answered(kind: &'static ResourceType, example: Value) -> Value {
    let mut shape = json_schema(kind, false);
    if let Some(members) = shape.as_object_mut() {
        members.insert("example".into(), example);
    }
    shape
}

/// Defines types that represent a schema in the API description, with the schemas that they reference.
macro_rules! shapes {
    ($($(#[doc = $doc:literal])* $name:ident = $shape:expr $(, with $inner:ident)?;)+) => { $(
        $(#[doc = $doc])*
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                serde_json::from_value($shape).unwrap_or_else(|_| Schema::default().into())
            }
        }

        impl ToSchema for $name {
            $(fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                schemas.push((stringify!($inner).into(), $inner::schema()));
            })?
        }
    )+ };
}

shapes! {
    /// A user as it is answered.
    ScimUser = answered(&USERS, example());
    /// A user as it is sent.
    ScimUserBody = json_schema(&USERS, true);
    /// A page of users.
    ScimUserList = list(&json!({ "$ref": "#/components/schemas/ScimUser" })), with ScimUser;
    /// A group as it is answered.
    ScimGroup = answered(&GROUPS, group_example());
    /// A group as it is sent.
    ScimGroupBody = json_schema(&GROUPS, true);
    /// A page of groups.
    ScimGroupList = list(&json!({ "$ref": "#/components/schemas/ScimGroup" })), with ScimGroup;
    /// Changes in parts.
    ScimPatch = patch();
    /// A SCIM search request.
    ScimSearch = search();
    /// A list of resources of several kinds, of schemas or of resource types.
    ScimList = list(&json!({ "type": "object" }));
}

fn patch() -> Value {
    let operation = json!({
        "type": "object",
        "required": ["op"],
        "properties": {
            "op": {
                "type": "string",
                "pattern": "^([Aa][Dd][Dd]|[Rr][Ee][Pp][Ll][Aa][Cc][Ee]|[Rr][Ee][Mm][Oo][Vv][Ee])$",
                "description": "`add`, `replace` or `remove`, in upper or lower case.",
                "examples": ["replace"],
            },
            "path": { "type": "string", "description": "Path such as emails[type eq \"work\"].value. Without it, `value` is an object of attributes." },
        },
    });
    json!({
        "type": "object",
        "required": ["Operations"],
        "properties": {
            "schemas": { "type": "array", "items": { "type": "string" } },
            "Operations": { "type": "array", "minItems": 1, "items": operation },
        },
    })
}

fn search() -> Value {
    let names = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "type": "object",
        "properties": {
            "schemas": names,
            "filter": { "type": "string", "maxLength": scim_core::filter::MAX_FILTER },
            "startIndex": { "type": "integer" },
            "count": { "type": "integer" },
            "cursor": { "type": "string" },
            "attributes": names,
            "excludedAttributes": names,
        },
        "example": { "schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"], "filter": "meta.lastModified ge \"2026-01-01T00:00:00Z\"" },
    })
}

fn list(resource: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["schemas", "totalResults", "itemsPerPage", "Resources"],
        "properties": {
            "schemas": { "type": "array", "items": { "type": "string" } },
            "totalResults": { "type": "integer", "minimum": 0 },
            "startIndex": { "type": "integer", "minimum": 1 },
            "nextCursor": { "type": "string", "description": "Cursor of the next page, for pages by cursor; absent on the last page." },
            "itemsPerPage": { "type": "integer", "minimum": 0 },
            "Resources": { "type": "array", "items": resource },
        },
    })
}

fn example() -> Value {
    let time = "2026-01-31T09:30:00.000Z";
    let id = "usr_01jz4444444444444444444444";
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

fn group_example() -> Value {
    let time = "2026-01-31T09:30:00.000Z";
    let (id, user) = ("grp_01jz4444444444444444444444", "usr_01jz4444444444444444444444");
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
        "id": id,
        "displayName": "Engineering",
        "members": [{
            "value": user,
            "type": "User",
            "$ref": format!("https://gate.example.com/api/scim/v2/Users/{user}"),
        }],
        "meta": {
            "resourceType": "Group",
            "created": time,
            "lastModified": time,
            "location": format!("https://gate.example.com/api/scim/v2/Groups/{id}"),
        },
    })
}
