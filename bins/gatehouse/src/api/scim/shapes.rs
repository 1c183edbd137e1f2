//! The shapes of SCIM for the API description, read from the table of attributes.

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

fn schema(value: Value) -> RefOr<Schema> {
    serde_json::from_value(value).unwrap_or_else(|_| Schema::default().into())
}

/// A user as it is answered.
pub(crate) struct ScimUser;

impl PartialSchema for ScimUser {
    fn schema() -> RefOr<Schema> {
        schema(answered(&USERS, example()))
    }
}
impl ToSchema for ScimUser {}

/// A user as it is sent.
pub(crate) struct ScimUserBody;

impl PartialSchema for ScimUserBody {
    fn schema() -> RefOr<Schema> {
        schema(json_schema(&USERS, true))
    }
}
impl ToSchema for ScimUserBody {}

/// A page of users.
pub(crate) struct ScimUserList;

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

/// A group as it is answered.
pub(crate) struct ScimGroup;

impl PartialSchema for ScimGroup {
    fn schema() -> RefOr<Schema> {
        schema(answered(&GROUPS, group_example()))
    }
}
impl ToSchema for ScimGroup {}

/// A group as it is sent.
pub(crate) struct ScimGroupBody;

impl PartialSchema for ScimGroupBody {
    fn schema() -> RefOr<Schema> {
        schema(json_schema(&GROUPS, true))
    }
}
impl ToSchema for ScimGroupBody {}

/// A page of groups.
pub(crate) struct ScimGroupList;

impl PartialSchema for ScimGroupList {
    fn schema() -> RefOr<Schema> {
        schema(list(&json!({ "$ref": "#/components/schemas/ScimGroup" })))
    }
}
impl ToSchema for ScimGroupList {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push(("ScimGroup".into(), ScimGroup::schema()));
    }
}

/// Changes in parts.
pub(crate) struct ScimPatch;

impl PartialSchema for ScimPatch {
    fn schema() -> RefOr<Schema> {
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
                "path": { "type": "string", "description": "Such as emails[type eq \"work\"].value; without one, `value` is an object of attributes." },
            },
        });
        schema(json!({
            "type": "object",
            "required": ["Operations"],
            "properties": {
                "schemas": { "type": "array", "items": { "type": "string" } },
                "Operations": { "type": "array", "minItems": 1, "items": operation },
            },
        }))
    }
}
impl ToSchema for ScimPatch {}

/// A search.
pub(crate) struct ScimSearch;

impl PartialSchema for ScimSearch {
    fn schema() -> RefOr<Schema> {
        let names = json!({ "type": "array", "items": { "type": "string" } });
        schema(json!({
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
        }))
    }
}
impl ToSchema for ScimSearch {}

/// A list of resources of several kinds, of schemas or of resource types.
pub(crate) struct ScimList;

impl PartialSchema for ScimList {
    fn schema() -> RefOr<Schema> {
        schema(list(&json!({ "type": "object" })))
    }
}
impl ToSchema for ScimList {}

fn list(resource: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["schemas", "totalResults", "itemsPerPage", "Resources"],
        "properties": {
            "schemas": { "type": "array", "items": { "type": "string" } },
            "totalResults": { "type": "integer", "minimum": 0 },
            "startIndex": { "type": "integer", "minimum": 1 },
            "nextCursor": { "type": "string", "description": "Of a page by cursor, unless it is the last." },
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

fn group_example() -> Value {
    let time = "2026-01-31T09:30:00.000Z";
    let (id, user) = ("grp_01jz2222222222222222222222", "usr_01jz2222222222222222222222");
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
