//! What all operations on a kind of resource share: the parameter of its id and the 404, and the media type of SCIM.

use serde_json::{Value, json};

use gate::errors::SCIM_JSON;

/// A resource with an address of its own.
struct Resource {
    /// Its path, which ends with the parameter.
    path: &'static str,
    /// What the parameter is.
    id: &'static str,
    /// The 404 of an operation that names no other.
    unknown: &'static str,
}

const RESOURCES: [Resource; 8] = [
    Resource { path: "/api/me/factors/{id}", id: "fac_…", unknown: "No factor of this id is one's own." },
    Resource {
        path: "/api/saml/{providerId}",
        id: "sso_…",
        unknown: "There is no identity provider of this id.",
    },
    Resource {
        path: "/api/scim/v2/Groups/{id}",
        id: "The group's id.",
        unknown: "The tenant has no such group.",
    },
    Resource {
        path: "/api/scim/v2/Users/{id}",
        id: "The tenant user id.",
        unknown: "The tenant has no such user.",
    },
    Resource {
        path: "/api/settings/network-policy/rules/{id}",
        id: "nrl_…",
        unknown: "The tenant has no rule of this id.",
    },
    Resource {
        path: "/api/settings/saml-providers/{id}",
        id: "sso_…",
        unknown: "The tenant has no identity provider of this id.",
    },
    Resource {
        path: "/api/settings/users/{id}",
        id: "usr_…",
        unknown: "The tenant has no person of this id.",
    },
    Resource {
        path: "/api/settings/webhooks/{id}",
        id: "whk_…",
        unknown: "The tenant has no subscription of this id.",
    },
];

impl Resource {
    fn parameter(&self) -> Option<&'static str> {
        self.path.rsplit_once('{')?.1.strip_suffix('}')
    }

    fn has(&self, path: &str) -> bool {
        path.strip_prefix(self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Completes an operation with what its kind of resource has.
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
    if let Some(parameters) = operation.get_mut("parameters").and_then(Value::as_array_mut) {
        parameters.retain(|one| !is_id(one));
        let schema = json!({ "type": "string" });
        parameters.insert(
            0,
            json!({ "name": name, "in": "path", "description": resource.id, "required": true, "schema": schema }),
        );
    }
    describe(operation, "404", resource.unknown);
}

/// Bodies of SCIM have a media type of their own (RFC 7644, section 3.1), and its errors their types (section 3.12).
fn complete_scim(path: &str, method: &str, operation: &mut Value) {
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    let answers = responses.into_iter().flat_map(serde_json::Map::values_mut);
    answers.for_each(rename_media);
    if let Some(body) = operation.get_mut("requestBody") {
        rename_media(body);
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

/// Adds an answer to an operation that has none of this status.
fn describe(operation: &mut Value, status: &str, description: &str) {
    if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
        responses.entry(status).or_insert_with(|| json!({ "description": description }));
    }
}
