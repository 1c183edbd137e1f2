//! Report of a connection test: each check, the received attributes, and the user who would have been signed in.

use directory::Person;
use kernel::{Email, Timestamp};
use saml_sp::{Claims, Refusal, Step};
use serde_json::{Value, json};

/// The outcome of a response, as the report needs it.
pub(crate) struct Outcome<'a> {
    pub(crate) passed: &'a [Step],
    pub(crate) claims: Option<&'a Claims>,
    pub(crate) email: Option<&'a Email>,
    pub(crate) person: Option<&'a Person>,
    pub(crate) refusal: Option<&'a Refusal>,
}

/// Builds the report, as it is stored and shown.
pub(crate) fn report(outcome: &Outcome<'_>, now: Timestamp) -> Value {
    let failed = outcome.refusal.map(Refusal::step);
    let check = |step: Step| match outcome.refusal {
        Some(refusal) if failed == Some(step) => json!({
            "check": step.as_str(),
            "outcome": "FAILED",
            "reason": refusal.reason.as_str(),
            "detail": refusal.detail,
        }),
        _ if outcome.refusal.is_none() || outcome.passed.contains(&step) => {
            json!({ "check": step.as_str(), "outcome": "PASSED" })
        }
        _ => json!({ "check": step.as_str(), "outcome": "NOT_REACHED" }),
    };
    // Omit the decryption check if nothing was encrypted.
    let shown =
        |step: &Step| *step != Step::Decryption || failed == Some(*step) || outcome.passed.contains(step);
    let attributes = outcome.claims.iter().flat_map(|claims| &claims.attributes);
    let attributes: Vec<Value> =
        attributes.map(|attribute| json!({ "name": attribute.name, "values": attribute.values })).collect();
    let name_id = outcome.claims.and_then(|claims| claims.name_id.as_ref());
    json!({
        "passed": outcome.refusal.is_none(),
        "checks": Step::ALL.into_iter().filter(shown).map(check).collect::<Vec<_>>(),
        "attributes": attributes,
        "nameId": name_id.map(|name| json!({ "format": name.format, "value": name.value })),
        "email": outcome.email.map(Email::as_str),
        "authnContext": outcome.claims.and_then(|claims| claims.authn_context.as_deref()),
        "user": outcome.person.map(|person| json!({
            "id": person.id.as_str(),
            "displayName": person.display_name,
            "email": person.email.as_ref().map(Email::as_str),
            "active": person.active,
        })),
        "finishedAt": now,
    })
}
