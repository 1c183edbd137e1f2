//! JSON Schemas of error responses, for an API description.

use scim_core::ScimType;
use serde_json::{Value, json};

use super::code::Code;

/// Lists all error codes with their statuses as Markdown.
fn codes() -> String {
    let line =
        |code: &Code| format!("- `{}` ({}): {}", code.as_str(), code.status().as_u16(), code.meaning());
    let lines: Vec<_> = Code::ALL.iter().map(line).collect();
    ["Error code:\n", &lines.join("\n")].join("\n")
}

/// Returns the schema of the envelope `{error, code?, reason?}`.
pub fn envelope() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": { "type": "string", "description": "The problem and its remedy." },
            "code": { "type": "string", "description": codes() },
            "reason": { "type": "string" },
            "purpose": { "type": "string", "description": "With STEP_UP_REQUIRED: the purpose." },
            "requiresPhishingResistant": { "type": "boolean", "description": "With STEP_UP_REQUIRED: present if only a passkey is accepted." },
        },
        "example": { "error": "Nothing was found at this URL. Check the path and the IDs in it.", "code": "NOT_FOUND" },
    })
}

/// Returns the schema of an error under `/api/scim` (RFC 7644, section 3.12).
pub fn scim_error() -> Value {
    json!({
        "type": "object",
        "required": ["schemas", "status", "detail"],
        "properties": {
            "schemas": {
                "type": "array",
                "items": { "type": "string", "const": "urn:ietf:params:scim:api:messages:2.0:Error" },
            },
            "status": { "type": "string", "description": "The HTTP status, as a string." },
            "scimType": {
                "type": "string",
                "enum": ScimType::ALL.map(ScimType::as_str),
            },
            "detail": { "type": "string", "description": "Name of the attribute." },
        },
        "example": {
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
            "status": "400",
            "scimType": "invalidValue",
            "detail": "userName: is required",
        },
    })
}

/// Returns the schema of a 401 or 403 under `/api/scim`, which also has the envelope's members.
pub fn scim_refusal() -> Value {
    let mut schema = scim_error();
    if let Some(properties) = schema.pointer_mut("/properties").and_then(Value::as_object_mut) {
        properties.extend(["error", "code", "reason"].map(|name| (name.into(), json!({ "type": "string" }))));
    }
    if let Some(example) = schema.pointer_mut("/example") {
        *example = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
            "status": "401",
            "detail": "The credential is missing or not valid. Sign in, or send a valid token.",
            "error": "The credential is missing or not valid. Sign in, or send a valid token.",
            "code": "UNAUTHENTICATED",
        });
    }
    schema
}
