//! JSON Schemas of SCIM messages, and examples of resources.

use serde_json::{Value, json};

use crate::filter::MAX_FILTER;

const TIME: &str = "2026-01-31T09:30:00.000Z";
const USER: &str = "usr_01jz4444444444444444444444";
const BASE: &str = "https://gate.example.com/api/scim/v2";

/// Returns the JSON Schema of a PATCH request (RFC 7644 §3.5.2). The value of an operation may have any type.
pub fn patch_schema() -> Value {
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

/// Returns the JSON Schema of a search request (RFC 7644 §3.4.3).
pub fn search_schema() -> Value {
    let names = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "type": "object",
        "properties": {
            "schemas": names,
            "filter": { "type": "string", "maxLength": MAX_FILTER },
            "startIndex": { "type": "integer" },
            "count": { "type": "integer" },
            "cursor": { "type": "string" },
            "attributes": names,
            "excludedAttributes": names,
        },
        "example": { "schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"], "filter": "meta.lastModified ge \"2026-01-01T00:00:00Z\"" },
    })
}

/// Returns the JSON Schema of a list response (RFC 7644 §3.4.2) with resources of this schema.
pub fn list_schema(resource: &Value) -> Value {
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

/// Returns an example of a user as it is returned.
pub fn user_example() -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "id": USER,
        "externalId": "00u1a2b3c4",
        "userName": "ada@example.com",
        "active": true,
        "name": { "familyName": "Lovelace", "givenName": "Ada" },
        "emails": [{ "value": "ada@example.com", "type": "work", "primary": true }],
        "meta": meta("User", &format!("{BASE}/Users/{USER}")),
    })
}

/// Returns an example of a group as it is returned.
pub fn group_example() -> Value {
    let id = "grp_01jz4444444444444444444444";
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
        "id": id,
        "displayName": "Engineering",
        "members": [{ "value": USER, "type": "User", "$ref": format!("{BASE}/Users/{USER}") }],
        "meta": meta("Group", &format!("{BASE}/Groups/{id}")),
    })
}

fn meta(kind: &str, location: &str) -> Value {
    json!({ "resourceType": kind, "created": TIME, "lastModified": TIME, "location": location })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GroupDraft, Params, Patch, UserDraft, schema::USERS};

    #[test]
    fn examples_are_accepted_as_requests() {
        UserDraft::read(&user_example()).unwrap().require_user_name().unwrap();
        GroupDraft::read(&group_example()).unwrap().require_display_name().unwrap();
        Params::of_search(&search_schema()["example"]).unwrap().query(&USERS).unwrap();
    }

    #[test]
    fn operations_of_a_patch_match_the_schema() {
        let schema = patch_schema();
        let operation = &schema["properties"]["Operations"]["items"];
        assert_eq!(operation["required"], json!(["op"]));
        for name in operation["properties"]["op"]["examples"].as_array().unwrap() {
            let patch = json!({ "Operations": [{ "op": name, "path": "title", "value": "Dr." }] });
            Patch::read(&USERS, &patch).unwrap();
        }
    }
}
