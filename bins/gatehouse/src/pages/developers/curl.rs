//! Commands that call an operation.
#![expect(clippy::indexing_slicing, reason = "a JSON value indexed by a name it lacks is null, not a panic")]

use serde_json::Value;

use super::{json::members, sample};

/// A command for one kind of credential.
pub(super) struct Curl {
    /// The credential, as the tab names it.
    pub(super) credential: &'static str,
    pub(super) command: String,
}

/// Returns a command for each credential that the operation accepts.
pub(super) fn curls(
    document: &Value,
    method: &str,
    path: &str,
    operation: &Value,
    base_url: &str,
) -> Vec<Curl> {
    let requirements = operation["security"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut names: Vec<_> = requirements.iter().flat_map(|one| members(one).map(|(name, _)| name)).collect();
    if names.is_empty() {
        names.push("");
    }
    // Scripts use tokens, so their tab comes first.
    names.sort_by_key(|name| *name == "sessionCookie");
    let curl = |name: &str| {
        let (credential, header) = match name {
            "personalAccessToken" => ("Personal access token", Some("-H \"Authorization: Bearer $TOKEN\"")),
            "receiverToken" => ("Token of a receiver", Some("-H \"Authorization: Bearer $RECEIVER_TOKEN\"")),
            "scimToken" => ("SCIM token", Some("-H \"Authorization: Bearer $SCIM_TOKEN\"")),
            "sessionCookie" => ("Session", Some("-b cookies.txt")),
            _ => ("No credential", None),
        };
        Curl { credential, command: command(document, method, path, operation, base_url, header) }
    };
    names.into_iter().map(curl).collect()
}

fn command(
    document: &Value,
    method: &str,
    path: &str,
    operation: &Value,
    base_url: &str,
    credential: Option<&str>,
) -> String {
    let verb = if method == "GET" { String::new() } else { format!(" -X {method}") };
    // Path parameters become variables of the shell.
    let path = path.replace('{', "$").replace('}', "");
    let mut lines = vec![format!("curl -sS{verb} \"{base_url}{path}\"")];
    lines.extend(credential.map(str::to_owned));
    let takes_step_up = ["description", "responses"]
        .iter()
        .any(|name| operation[*name].to_string().contains("STEP_UP_REQUIRED"));
    if takes_step_up && credential == Some("-b cookies.txt") {
        lines.push("-H \"X-StepUp-Token: $STEP_UP_TOKEN\"".to_owned());
    }
    if let Some((media, content)) = members(&operation["requestBody"]["content"]).next() {
        lines.push(format!("-H \"Content-Type: {media}\""));
        let body = content.get("example").cloned().or_else(|| sample::of(document, &content["schema"]));
        // A single quote ends the shell's string: leave it and enter it escaped.
        lines.extend(body.map(|body| format!("-d '{}'", body.to_string().replace('\'', "'\\''"))));
    }
    lines.join(" \\\n  ")
}
