//! Parts that all operations on a kind of resource share: the ID parameter, the 404 response, and the SCIM media
//! type.

use serde_json::{Value, json};

use gate::errors::SCIM_JSON;

/// A resource whose path has an ID.
struct Resource {
    /// Path prefix that ends with the ID parameter.
    path: &'static str,
    /// Description of the ID parameter.
    id: &'static str,
    /// Description of the 404 response, unless the operation has its own.
    unknown: &'static str,
}

const RESOURCES: [Resource; 16] = [
    Resource { path: "/api/me/factors/{id}", id: "fac_…", unknown: "You have no factor with this ID." },
    Resource { path: "/api/oidc/{providerId}", id: "oidc_…", unknown: "Unknown SSO connection." },
    Resource { path: "/api/saml/{providerId}", id: "sso_…", unknown: "Unknown SSO connection." },
    Resource { path: "/api/scim/v2/Groups/{id}", id: "ID of the group.", unknown: "Unknown group." },
    Resource { path: "/api/scim/v2/Users/{id}", id: "ID of the user.", unknown: "Unknown user." },
    Resource { path: "/api/settings/network-policy/rules/{id}", id: "nrl_…", unknown: "Unknown rule." },
    Resource {
        path: "/api/settings/oidc-providers/{id}", id: "oidc_…", unknown: "Unknown SSO connection."
    },
    Resource { path: "/api/settings/role-rules/{id}", id: "rrl_…", unknown: "Unknown rule." },
    Resource {
        path: "/api/settings/roles/{id}",
        id: "role_…",
        unknown: "The tenant has defined no such role.",
    },
    Resource {
        path: "/api/settings/sso-connections/{id}",
        id: "sso_… or oidc_…",
        unknown: "Unknown SSO connection.",
    },
    Resource { path: "/api/settings/saml-providers/{id}", id: "sso_…", unknown: "Unknown SSO connection." },
    Resource {
        path: "/api/settings/users/{id}",
        id: "usr_…",
        unknown: "The tenant has no user with this ID.",
    },
    Resource { path: "/api/settings/log-streams/{id}", id: "lst_…", unknown: "Unknown log stream." },
    Resource { path: "/api/settings/signals/receivers/{id}", id: "rcv_…", unknown: "Unknown receiver." },
    Resource {
        path: "/api/settings/signals/transmitters/{id}",
        id: "trm_…",
        unknown: "Unknown transmitter.",
    },
    Resource { path: "/api/settings/webhooks/{id}", id: "whk_…", unknown: "Unknown webhook." },
];

impl Resource {
    fn parameter(&self) -> Option<&'static str> {
        self.path.rsplit_once('{')?.1.strip_suffix('}')
    }

    fn has(&self, path: &str) -> bool {
        path.strip_prefix(self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Adds the shared parts of its resource to an operation.
pub(super) fn complete(path: &str, method: &str, operation: &mut Value) {
    if path.starts_with("/api/scim/") {
        complete_scim(path, method, operation);
    }
    let resource = RESOURCES.iter().find(|resource| resource.has(path));
    let Some((resource, name)) = resource.and_then(|one| Some((one, one.parameter()?))) else { return };
    let is_id = |one: &Value| {
        one.get("in").is_some_and(|place| place == "path")
            && one.get("name").is_some_and(|known| known == name)
    };
    let schema = json!({ "type": "string" });
    let parameter =
        json!({ "name": name, "in": "path", "description": resource.id, "required": true, "schema": schema });
    if let Some(operation) = operation.as_object_mut()
        && let Some(parameters) = operation.entry("parameters").or_insert_with(|| json!([])).as_array_mut()
    {
        parameters.retain(|one| !is_id(one));
        parameters.insert(0, parameter);
    }
    describe(operation, "404", resource.unknown);
}

/// Completes a SCIM operation: a SCIM token is required unless the operation declares other security, bodies have a
/// media type of their own (RFC 7644, section 3.1), and errors have types (section 3.12).
fn complete_scim(path: &str, method: &str, operation: &mut Value) {
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    let answers = responses.into_iter().flat_map(serde_json::Map::values_mut);
    answers.for_each(rename_media);
    if let Some(body) = operation.get_mut("requestBody") {
        rename_media(body);
    }
    if let Some(operation) = operation.as_object_mut() {
        operation.entry("security").or_insert_with(|| json!([{ "scimToken": [] }]));
    }
    let kinds = match method {
        "patch" => "invalidSyntax, invalidPath, invalidFilter, invalidValue, noTarget or mutability.",
        "put" => "invalidSyntax or invalidValue.",
        "post" if !path.ends_with("/.search") => "invalidSyntax or invalidValue.",
        _ => return,
    };
    describe(operation, "400", kinds);
    describe(operation, "409", "uniqueness.");
}

fn rename_media(body: &mut Value) {
    if let Some(content) = body.get_mut("content").and_then(Value::as_object_mut)
        && let Some(described) = content.remove("application/json")
    {
        content.insert(SCIM_JSON.into(), described);
    }
}

/// Adds a response to an operation that has none with this status.
fn describe(operation: &mut Value, status: &str, description: &str) {
    if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
        responses.entry(status).or_insert_with(|| json!({ "description": description }));
    }
}
