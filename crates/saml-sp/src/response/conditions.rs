//! Checks a verified assertion: issuer, recipient, time, audience and bearer confirmation.

use kernel::Timestamp;

use super::{
    Against, SKEW_MILLIS,
    claims::{Claims, Conditions, Confirmation, time},
    structure,
};
use crate::{
    refusal::{Reason, Refusal, Step},
    request::RequestId,
    xml::{attribute, only_text},
};

/// Maximum length of received text quoted in error details, in characters.
const TOLD: usize = 120;

fn quoted(text: &str) -> String {
    text.chars().take(TOLD).collect()
}

/// Runs the checks in order, appends those that pass to `passed`, and returns the answered request's id. If
/// `is_signed`, `response` must have been read from the signed bytes.
pub(super) fn check(
    response: &structure::Response<'_, '_>,
    is_signed: bool,
    claims: &Claims,
    against: &Against<'_>,
    passed: &mut Vec<Step>,
) -> Result<RequestId, Refusal> {
    addressed(response, is_signed, claims, against)?;
    passed.push(Step::Addressing);
    in_force(claims, against)?;
    passed.push(Step::Conditions);
    let confirmation = confirmed(claims, against)?;
    passed.push(Step::Subject);
    answers(response, confirmation)
}

fn addressed(
    response: &structure::Response<'_, '_>,
    is_signed: bool,
    claims: &Claims,
    against: &Against<'_>,
) -> Result<(), Refusal> {
    let (acs, entity_id) = (&against.service.acs_url, &against.provider.idp.entity_id);
    match attribute(response.root, "Destination") {
        Some(destination) if destination == acs => {}
        None if !is_signed => {}
        found => {
            let found = quoted(found.unwrap_or("missing from a signed Response"));
            return Err(Refusal::new(Reason::Destination, format!("Destination is {found}; expected {acs}")));
        }
    }
    let said = response.issuer.map(only_text).transpose()?;
    for (whose, issuer) in [("Response", said), ("Assertion", Some(claims.issuer.as_str()))] {
        if let Some(issuer) = issuer.filter(|issuer| issuer != entity_id) {
            let detail = format!("the Issuer of the {whose} is {}; expected {entity_id}", quoted(issuer));
            return Err(Refusal::new(Reason::Issuer, detail));
        }
    }
    let response_instant = time(response.root, "IssueInstant")?;
    let latest = against.now.plus_millis(SKEW_MILLIS);
    let instants = [("Response", response_instant), ("Assertion", Some(claims.issue_instant))];
    for (whose, instant) in instants {
        match instant {
            Some(instant) if instant <= latest => {}
            Some(instant) => {
                let detail = format!("the {whose} was issued at {instant}, which is in the future");
                return Err(Refusal::new(Reason::IssueInstant, detail));
            }
            None => {
                return Err(Refusal::new(Reason::IssueInstant, format!("the {whose} has no IssueInstant")));
            }
        }
    }
    Ok(())
}

/// Returns whether `end` has passed, allowing for clock skew.
fn over(end: Timestamp, now: Timestamp) -> bool {
    now >= end.plus_millis(SKEW_MILLIS)
}

fn in_force(claims: &Claims, against: &Against<'_>) -> Result<(), Refusal> {
    let missing = || Refusal::new(Reason::NoConditions, "the Assertion has no Conditions");
    let conditions = claims.conditions.as_ref().ok_or_else(missing)?;
    if let Some(unknown) = &conditions.unknown {
        return Err(Refusal::new(
            Reason::UnknownCondition,
            format!("the condition {} is not supported", quoted(unknown)),
        ));
    }
    valid(conditions, against.now)?;
    let entity_id = &against.service.entity_id;
    if conditions.audiences.is_empty() {
        return Err(Refusal::new(Reason::Audience, "there is no AudienceRestriction"));
    }
    if let Some(other) = conditions.audiences.iter().find(|audiences| !audiences.contains(entity_id)) {
        let detail = format!("the audience is {}; expected {entity_id}", quoted(&other.join(", ")));
        return Err(Refusal::new(Reason::Audience, detail));
    }
    if claims.authn.is_empty() {
        return Err(Refusal::new(Reason::NoAuthnStatement, "there is no AuthnStatement"));
    }
    for authn in &claims.authn {
        if let Some(end) = authn.session_not_on_or_after.filter(|end| over(*end, against.now)) {
            return Err(Refusal::new(Reason::SessionOver, format!("SessionNotOnOrAfter was {end}")));
        }
        if authn.instant > against.now.plus_millis(SKEW_MILLIS) {
            let detail = format!("AuthnInstant is {}, which is in the future", authn.instant);
            return Err(Refusal::new(Reason::OutsideTime, detail));
        }
    }
    let wanted = &against.provider.authn_contexts;
    let fits = |class: &Option<String>| class.as_ref().is_some_and(|class| wanted.contains(class));
    if !wanted.is_empty() && !claims.authn.iter().all(|authn| fits(&authn.class)) {
        let found = claims.authn_context.as_deref().unwrap_or("nothing");
        let detail = format!("AuthnContextClassRef is {}; requested {}", quoted(found), wanted.join(", "));
        return Err(Refusal::new(Reason::AuthnContext, detail));
    }
    Ok(())
}

fn valid(conditions: &Conditions, now: Timestamp) -> Result<(), Refusal> {
    let early = conditions.not_before.filter(|start| now.plus_millis(SKEW_MILLIS) < *start);
    let late = conditions.not_on_or_after.filter(|end| over(*end, now));
    let detail = match (early, late) {
        (None, None) => return Ok(()),
        (Some(start), _) => format!("Conditions are valid from {start}; the time is {now}"),
        (None, Some(end)) => format!("Conditions were valid until {end}; the time is {now}"),
    };
    Err(Refusal::new(Reason::OutsideTime, detail))
}

/// Returns the first valid bearer confirmation.
fn confirmed<'c>(claims: &'c Claims, against: &Against<'_>) -> Result<&'c Confirmation, Refusal> {
    let mut problems = Vec::new();
    for confirmation in &claims.confirmations {
        match problem(confirmation, against) {
            None => return Ok(confirmation),
            Some(problem) => problems.push(problem),
        }
    }
    let detail =
        if problems.is_empty() { "there is no SubjectConfirmation".to_owned() } else { problems.join("; ") };
    Err(Refusal::new(Reason::NotConfirmed, detail))
}

fn problem(confirmation: &Confirmation, against: &Against<'_>) -> Option<String> {
    let acs = &against.service.acs_url;
    if !confirmation.is_bearer {
        return Some("the Method is not bearer".into());
    }
    if confirmation.recipient.as_ref() != Some(acs) {
        let found = quoted(confirmation.recipient.as_deref().unwrap_or("missing"));
        return Some(format!("Recipient is {found}; expected {acs}"));
    }
    if confirmation.has_not_before {
        return Some("a bearer confirmation must not have NotBefore".into());
    }
    match confirmation.not_on_or_after {
        None => Some("NotOnOrAfter is missing".into()),
        Some(end) if over(end, against.now) => {
            Some(format!("NotOnOrAfter was {end}; the time is {}", against.now))
        }
        Some(_) => None,
    }
}

/// Returns the request that the bearer confirmation answers. The response's own InResponseTo, if any, must be equal.
fn answers(
    response: &structure::Response<'_, '_>,
    confirmation: &Confirmation,
) -> Result<RequestId, Refusal> {
    let said = attribute(response.root, "InResponseTo");
    let Some(answered) = &confirmation.in_response_to else {
        let detail = "SubjectConfirmationData has no InResponseTo; start the sign-in here, not at the identity \
            provider";
        return Err(Refusal::new(Reason::Unsolicited, detail));
    };
    let unknown = |detail: String| Refusal::new(Reason::UnknownRequest, detail);
    if said.is_some_and(|said| said != answered) {
        return Err(unknown("the Response and its Assertion answer different requests".into()));
    }
    answered.parse().map_err(|()| unknown(format!("{} is not a request of this service", quoted(answered))))
}
