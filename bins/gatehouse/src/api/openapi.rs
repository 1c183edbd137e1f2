//! The OpenAPI description: collected from the handlers, and completed with the parts that all operations share.

use actix_web::App;
use serde_json::{Value, json};
use utoipa::OpenApi;
use utoipa_actix_web::AppExt;

use super::routes;
use gate::errors::{SCIM_JSON, schema};

mod areas;
mod resources;
pub(crate) mod values;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Gatehouse",
        version = "1.0.0",
        description = "Tenant and integration API of a workforce platform: sign-in, MFA, single sign-on, SCIM \
                       provisioning, access policies, step-up authentication, webhooks and a verifiable audit log."
    ),
    servers((url = "/", description = "This server")),
    tags(
        (name = "Discovery", description = "API description and event catalog."),
        (name = "Sign-in", description = "Sign-in and sign-out."),
        (name = "SAML", description = "Single sign-on through an identity provider."),
        (name = "Step-up", description = "Authentication for one high-impact action."),
        (name = "Sessions", description = "Your sessions."),
        (name = "Factors", description = "Your second factors and recovery codes."),
        (name = "Profile", description = "Your profile and password."),
        (name = "Tokens", description = "Your personal access tokens."),
        (name = "People", description = "Users of the tenant."),
        (name = "Settings", description = "Policies and users, for administrators."),
        (name = "Single sign-on", description = "SSO connections and domains, for administrators."),
        (name = "Webhooks", description = "Webhooks and their deliveries, for administrators."),
        (name = "Audit log", description = "Audit log, for administrators."),
        (name = "SCIM", description = "SCIM 2.0 provisioning (RFC 7643, RFC 7644).")
    )
)]
struct Base;

/// Returns the whole document as JSON.
pub fn document() -> Value {
    let collected =
        App::new().into_utoipa_app().openapi(Base::openapi()).configure(routes).split_for_parts().1;
    let mut document = serde_json::to_value(collected).unwrap_or_default();
    complete(&mut document);
    document
}

/// Adds the error schemas, the security schemes, and the responses that all operations have.
fn complete(document: &mut Value) {
    let components = [
        ("/x-step-up-purposes", json!(stepup::PURPOSES)),
        ("/components/schemas/Error", schema::envelope()),
        (
            // The value may have any type, which the types of the handlers cannot express.
            "/components/schemas/ScimPatch/properties/Operations/items/properties/value",
            json!({ "description": "Value to add or to replace, or values of a multi-valued attribute to remove." }),
        ),
        ("/components/schemas/PatBody/properties/scopes/uniqueItems", json!(true)),
        ("/components/schemas/MfaPolicy/properties/acceptedFactors/uniqueItems", json!(true)),
        ("/components/schemas/PatPolicy/properties/allowedScopes/uniqueItems", json!(true)),
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
    if let Some(schemas) = document.pointer_mut("/components/schemas") {
        open_objects(schemas);
    }
    if let Some(paths) = document.get_mut("paths") {
        open_objects(paths);
    }
    // The package declares no license, and an empty one is invalid.
    if let Some(info) = document.get_mut("info").and_then(Value::as_object_mut) {
        info.remove("license");
    }
    let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) else { return };
    for (path, item) in paths {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            if let (Some(operation), Some(tag)) = (operation.as_object_mut(), areas::tag(path)) {
                operation.insert("tags".into(), json!([tag]));
            }
            resources::complete(path, method, operation);
            proves(operation);
            describe_optional_body(operation);
            add_common_answers(path, operation);
            for parameter in
                operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten()
            {
                describe_parameter(parameter);
            }
        }
    }
}

fn add_common_answers(path: &str, operation: &mut Value) {
    let scim = path.starts_with("/api/scim/");
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
    if path.ends_with("/acs") {
        // Browsers get these as an HTML page.
        for status in ["401", "403"] {
            let content = operation.pointer_mut(&format!("/responses/{status}/content"));
            if let Some(content) = content.and_then(Value::as_object_mut) {
                content.insert("text/html".into(), json!({ "schema": { "type": "string" } }));
            }
        }
    }
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
fn proves(operation: &mut Value) {
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
fn put(value: &mut Value, pointer: &str, new: Value) {
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
