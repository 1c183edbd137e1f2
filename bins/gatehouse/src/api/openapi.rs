//! The OpenAPI description: collected from the handlers, and completed with the parts that all operations share.

use serde_json::{Value, json};
use utoipa::OpenApi;

use super::{Registry, routes};
use gate::description;

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
        (name = "OpenID Connect", description = "Single sign-on through an OpenID provider."),
        (name = "Step-up", description = "Authentication for one high-impact action."),
        (name = "Sessions", description = "Your sessions."),
        (name = "Factors", description = "Your second factors and recovery codes."),
        (name = "Profile", description = "Your profile and password."),
        (name = "Tokens", description = "Your personal access tokens."),
        (name = "People", description = "Users of the tenant."),
        (name = "Settings", description = "Policies and users, for administrators."),
        (name = "Roles", description = "Roles, and rules that give them to groups."),
        (name = "Single sign-on", description = "SSO connections and domains, for administrators."),
        (name = "Removals", description = "Removals of users that SCIM tokens wait to make, and their limit."),
        (name = "Webhooks", description = "Webhooks and their deliveries, for administrators."),
        (name = "Log streams", description = "Streams of the audit log to SIEM systems, for administrators."),
        (name = "Shared signals", description = "Security event tokens about accounts and sessions for other services (OpenID Shared Signals Framework 1.0)."),
        (name = "Audit log", description = "Audit log, for administrators."),
        (name = "SCIM", description = "SCIM 2.0 provisioning (RFC 7643, RFC 7644).")
    )
)]
struct Base;

/// Returns the whole document as JSON.
pub fn document() -> Value {
    let mut collected = Base::openapi();
    routes(&mut Registry::Description(&mut collected));
    let mut document = serde_json::to_value(collected).unwrap_or_default();
    complete(&mut document);
    document
}

/// Adds the parts that operations share.
fn complete(document: &mut Value) {
    let components = [
        (
            // The value may have any type, which the types of the handlers cannot express.
            "/components/schemas/ScimPatch/properties/Operations/items/properties/value",
            json!({ "description": "Value to add or to replace, or values of a multi-valued attribute to remove." }),
        ),
        ("/components/schemas/PatBody/properties/scopes/uniqueItems", json!(true)),
        ("/components/schemas/MfaPolicy/properties/acceptedFactors/uniqueItems", json!(true)),
        ("/components/schemas/PatPolicy/properties/allowedScopes/uniqueItems", json!(true)),
        ("/components/schemas/OidcProviderBody/properties/signingAlgorithms/uniqueItems", json!(true)),
        ("/components/schemas/OidcProviderBody/properties/scopes/uniqueItems", json!(true)),
        ("/components/schemas/OidcProviderBody/properties/acrValues/uniqueItems", json!(true)),
        ("/components/schemas/OidcProviderBody/properties/emailDomains/uniqueItems", json!(true)),
    ];
    for (pointer, value) in components {
        description::put(document, pointer, value);
    }
    description::complete_document(document);
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
            description::complete_operation(path, operation);
            if ["/acs", "/slo", "/callback"].iter().any(|end| path.ends_with(end)) {
                add_pages(operation);
            }
        }
    }
}

/// Adds the HTML pages with which browsers are answered if a response is refused.
fn add_pages(operation: &mut Value) {
    for status in ["400", "401", "403"] {
        let content = operation.pointer_mut(&format!("/responses/{status}/content"));
        if let Some(content) = content.and_then(Value::as_object_mut) {
            content.insert("text/html".into(), json!({ "schema": { "type": "string" } }));
        }
    }
}
