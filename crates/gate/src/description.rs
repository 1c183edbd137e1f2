//! The parts of the API description that the request path adds to every operation.
//!
//! The middleware and the body readers decide which errors an operation may answer with, so their responses are
//! described here and not at each handler.

use serde_json::{Value, json};

use crate::{
    errors::{SCIM_JSON, schema},
    purposes::PURPOSES,
    shape::Area,
};

/// Adds the error schemas and the security schemes, and opens objects without declared members.
pub fn complete_document(document: &mut Value) {
    let components = [
        ("/x-step-up-purposes", json!(PURPOSES)),
        ("/components/schemas/Error", schema::envelope()),
        ("/components/schemas/ScimError", schema::scim_error()),
        ("/components/schemas/ScimRefusal", schema::scim_refusal()),
        (
            "/components/securitySchemes/scimToken",
            json!({
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "scim_…",
                "description": "SCIM token of a tenant.",
            }),
        ),
        (
            "/components/securitySchemes/receiverToken",
            json!({
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "ssf_…",
                "description": "Access token of a receiver of shared signals.",
            }),
        ),
        (
            "/components/securitySchemes/sessionCookie",
            json!({
                "type": "apiKey",
                "in": "cookie",
                "name": "authjs.session-token",
                "description": "Session cookie, set by the sign-in. `__Secure-authjs.session-token` is accepted too. Ignored if the request has an Authorization header.",
            }),
        ),
        (
            "/components/securitySchemes/personalAccessToken",
            json!({
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "pat_…",
                "description": "Personal access token with the scope that the operation requires.",
            }),
        ),
    ];
    for (pointer, value) in components {
        put(document, pointer, value);
    }
    for part in ["/components/schemas", "/paths"] {
        if let Some(part) = document.pointer_mut(part) {
            open_objects(part);
        }
    }
}

/// Adds the step-up header, the responses that all operations have, and corrects schemas of parameters and bodies.
pub fn complete_operation(path: &str, operation: &mut Value) {
    describe_step_up(operation);
    describe_optional_body(operation);
    add_common_answers(path, operation);
    for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
        describe_parameter(parameter);
    }
}

fn add_common_answers(path: &str, operation: &mut Value) {
    let scim = Area::of(path) == Area::Scim;
    let guarded = operation.get("security").and_then(Value::as_array).is_some_and(|security| {
        security.iter().any(|one| one.as_object().is_some_and(|one| !one.is_empty()))
    });
    let mut common = vec![
        ("500", "Internal error; the server log has the details."),
        ("503", "Overloaded; retry after the time in Retry-After."),
    ];
    if guarded {
        common.push((
            "401",
            "No valid credential: missing, unknown, malformed or revoked; SESSION_REVOKED; ACCOUNT_DISABLED.",
        ));
        common.push(("403", "The credential lacks the permission."));
        if scim {
            common.push(("429", "The tenant exceeded its rate; retry after the time in Retry-After."));
        }
    }
    if operation.get("requestBody").is_some() {
        common.push(("400", "The body is malformed; `error` starts with the path of the field."));
        let is_sign_in = path.starts_with("/api/auth/");
        common.push(("413", if is_sign_in { "The body exceeds 16 KiB." } else { "The body exceeds 1 MiB." }));
        common.push(("415", "Unsupported media type."));
    }
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for (status, description) in common {
        responses.entry(status).or_insert_with(|| error_answer(scim, status, description));
    }
    for (status, answer) in responses.iter_mut() {
        // An error response without a schema gets the error schema of its area.
        if status.as_str() >= "400" && answer.get("content").is_none() {
            let text = answer.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
            *answer = error_answer(scim, status, &text);
        }
        let shown = json!({ "required": true, "schema": { "type": "string" } });
        put(answer, "/headers/X-Service-Spec-Version", shown.clone());
        put(answer, "/headers/X-Request-Id", shown.clone());
        match status.as_str() {
            "201" => put(answer, "/headers/Location", shown),
            "429" | "503" => put(answer, "/headers/Retry-After", shown),
            _ => {}
        }
    }
    responses.sort_keys();
}

fn error_answer(scim: bool, status: &str, description: &str) -> Value {
    let (media, schema) = match (scim, status) {
        (true, "401" | "403") => (SCIM_JSON, "ScimRefusal"),
        (true, _) => (SCIM_JSON, "ScimError"),
        (false, _) => ("application/json", "Error"),
    };
    let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
    json!({ "description": description, "content": { media: { "schema": schema } } })
}

/// Allows any members in objects that declare none. Code generators would treat them as empty otherwise.
fn open_objects(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(open_objects),
        Value::Object(members) => {
            let is_object = match members.get("type") {
                Some(Value::String(kind)) => kind == "object",
                Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
                _ => false,
            };
            if is_object
                && !["properties", "additionalProperties"].iter().any(|name| members.contains_key(*name))
            {
                members.insert("additionalProperties".into(), Value::Bool(true));
            }
            members
                .iter_mut()
                .filter(|(name, _)| *name != "example")
                .for_each(|(_, value)| open_objects(value));
        }
        _ => {}
    }
}

/// Removes `null` from the schema of a parameter: parameters in a URL are never null.
fn describe_parameter(parameter: &mut Value) {
    let Some(schema) = parameter.get_mut("schema") else { return };
    if let Some(present) = without_null(schema) {
        *schema = present;
    }
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(Value::Array(kinds)) = schema.get("type")
        && let [kind, Value::String(null)] = kinds.as_slice()
        && null == "null"
    {
        let kind = kind.clone();
        schema.insert("type".into(), kind);
    }
    // Integers of any size are accepted; larger values are clamped to the maximum.
    if schema.get("type").is_some_and(|kind| kind == "integer") {
        schema.remove("format");
    }
}

/// Returns the other alternative if one of two is `null`.
fn without_null(schema: &Value) -> Option<Value> {
    let either = schema.get("oneOf").and_then(Value::as_array)?;
    let is_null = |one: &Value| one.get("type").is_some_and(|kind| kind == "null");
    either.iter().any(is_null).then(|| either.iter().find(|one| !is_null(one)).cloned())?
}

/// Removes `null` from the schema of an optional body.
fn describe_optional_body(operation: &mut Value) {
    let Some(schema) = operation.pointer_mut("/requestBody/content/application~1json/schema") else { return };
    if let Some(body) = without_null(schema) {
        *schema = body;
    }
}

/// Adds the `X-StepUp-Token` parameter and the challenge header to an operation that requires a step-up.
fn describe_step_up(operation: &mut Value) {
    let refusal = operation.pointer("/responses/401/description").and_then(Value::as_str);
    if !refusal.is_some_and(|refusal| refusal.contains("STEP_UP_REQUIRED")) {
        return;
    }
    let header = json!({
        "name": "X-StepUp-Token",
        "in": "header",
        "required": false,
        "description": "Step-up token for the purpose that the error response names. Valid once.",
        "schema": { "type": "string" },
    });
    if let Some(parameters) = operation.get_mut("parameters").and_then(Value::as_array_mut) {
        parameters.push(header);
    } else {
        put(operation, "/parameters", json!([header]));
    }
    let challenge = json!({
        "description": "StepUp purpose=<purpose>, with STEP_UP_REQUIRED.",
        "schema": { "type": "string" },
    });
    put(operation, "/responses/401/headers/WWW-Authenticate", challenge);
}

/// Sets the value at a JSON pointer and creates missing objects on the way.
pub fn put(value: &mut Value, pointer: &str, new: Value) {
    let mut place = value;
    for name in pointer.split('/').skip(1) {
        if !place.is_object() {
            *place = json!({});
        }
        let Some(members) = place.as_object_mut() else { return };
        place = members.entry(name).or_insert(Value::Null);
    }
    *place = new;
}
