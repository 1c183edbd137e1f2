//! A request for each operation.

use serde_json::{Value, json};

use super::{bodies::body, list::Operation};
use crate::support::{Answer, Caller};

/// A well-formed user ID that does not exist.
const NOBODY: &str = "usr_06gzkadrwwt5d9z93ens6801xc";

/// Returns the path and the body of a request, about these resources.
pub(crate) fn request(operation: &Operation, ids: &[String]) -> (String, Option<Value>) {
    let mut path = operation.path.clone();
    for (names, id) in [
        &["{id}", "{domain}", "{providerId}", "{streamId}", "{tenantId}"][..],
        &["{sid}", "{tokenId}", "{deliveryId}", "{tryId}", "{ssoId}", "{transmitterId}"],
    ]
    .iter()
    .zip(ids)
    {
        for name in *names {
            path = path.replace(name, id);
        }
    }
    path = path.replace("{level}/{index}", "0/000.p/1");
    if operation.id == "get_audit_consistency" {
        path.push_str("?from=1");
    }
    if operation.id == "step_up_status" {
        path.push_str("?purpose=PAYROLL_SEAL");
    }
    let mut body = body(operation);
    // Requests about streams of signals name the stream in the body or in the query.
    if let Some(stream) = ids.first().filter(|_| path.starts_with("/api/ssf/") && !path.contains("/poll/")) {
        match &mut body {
            Some(body) if operation.id != "create_ssf_stream" => body["stream_id"] = json!(stream),
            None => path.extend(["?stream_id=", stream]),
            Some(_) => {}
        }
    }
    // Transmitters are for an existing connection.
    if let (Some(body), Some(id)) = (&mut body, ids.iter().find(|id| id.starts_with("oidc_")))
        && operation.id == "create_signal_transmitter"
    {
        body["connectionId"] = json!(id);
    }
    // Rules are for an existing group.
    if let (Some(body), Some(group)) = (&mut body, ids.iter().find(|id| id.starts_with("grp_"))) {
        for place in ["/groupId", "/rule/groupId"] {
            if let Some(value) = body.pointer_mut(place) {
                *value = json!(group);
            }
        }
    }
    (path, body)
}

/// Sends the request for an operation.
pub(crate) fn call(caller: &Caller, operation: &Operation, ids: &[String]) -> Answer {
    let (path, body) = request(operation, ids);
    let kind = if path.starts_with("/api/scim/") { "application/scim+json" } else { "application/json" };
    let text = body.as_ref().map(Value::to_string).unwrap_or_default();
    caller.send(&operation.method, &path, body.map(|_| kind), &text)
}

/// Returns well-formed IDs that do not exist.
pub(crate) fn nobody() -> Vec<String> {
    vec![NOBODY.to_owned(), "ses_06gzkadrwwt5d9z93ens6801xc".to_owned()]
}
