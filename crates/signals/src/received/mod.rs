//! Security event tokens from other transmitters (RFC 8417, as SSF 1.0 profiles them): verification without I/O.
//!
//! A host that receives a token, pushed or polled, passes it to [`verify`] with the transmitter's keys. The outcome is a
//! [`ReceivedEvent`], or a [`Refusal`] with the reason for administrators and an error code for the transmitter. No check
//! can be turned off.

mod act;
mod kind;
mod members;
mod refusal;
mod subject;
mod text;

use std::fmt;

use kernel::Timestamp;
use oidc_rp::{Algorithm, KeySet};
use serde_json::{Map, Value};

pub use self::{
    act::{Act, CredentialChangeType, LevelDirection, RiskLevel},
    kind::SignalKind,
    refusal::{Reason, Refusal},
    subject::ReceivedSubject,
};
use self::{
    members::{event_time, present, required, time},
    subject::is_uri,
    text::is_printable,
};

/// The type that the header must name (RFC 8417, section 2.3).
const TOKEN_TYPE: &str = "secevent+jwt";
/// The accepted algorithms. The CAEP interoperability profile requires RS256.
const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA];
/// The allowed clock skew.
const SKEW_MILLIS: i64 = 60_000;
/// How long after it was issued a token is accepted.
const MAX_AGE_MILLIS: i64 = 7 * 86_400_000;
/// Maximum length of the IDs of a token and of a transaction, in characters.
const MAX_ID: usize = 255;
/// Maximum length of the URI of an event type.
const MAX_EVENT_TYPE: usize = 500;
/// Maximum number of audiences.
const MAX_AUDIENCES: usize = 20;

/// The values that a token must match.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'e> {
    /// The issuer of the stream, compared exactly.
    pub issuer: &'e str,
    /// The audience of the stream, which is one of the token's audiences.
    pub audience: &'e str,
    /// Current time.
    pub now: Timestamp,
}

/// A verified event. Its `Debug` output has the ID and the type only.
///
/// Transmitters repeat tokens. A host remembers the ID until [`remember_until`](Self::remember_until), and accepts a token
/// with the same ID without acting upon it again.
#[derive(Clone, PartialEq)]
pub struct ReceivedEvent {
    /// ID of the token, unique within the issuer.
    pub jti: String,
    /// When the token was issued.
    pub issued_at: Timestamp,
    /// When the event happened, if the transmitter says so: `event_timestamp` of the event, otherwise `toe` of the token.
    pub happened_at: Option<Timestamp>,
    /// ID that tokens with the same cause have in common.
    pub transaction: Option<String>,
    /// The URI of the event's type.
    pub event_type: String,
    /// Who or what the event is about.
    pub subject: ReceivedSubject,
    /// What happened.
    pub act: Act,
    /// The event with all members.
    pub payload: Map<String, Value>,
}

impl ReceivedEvent {
    /// Returns until when the ID must be remembered: longer than the token is accepted.
    pub fn remember_until(&self) -> Timestamp {
        self.issued_at.plus_millis(MAX_AGE_MILLIS + SKEW_MILLIS)
    }
}

impl fmt::Debug for ReceivedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ReceivedEvent");
        debug.field("jti", &self.jti).field("event_type", &self.event_type).finish_non_exhaustive()
    }
}

/// Verifies a token: its form, its signature by one of the transmitter's `keys`, its claims and its event.
pub fn verify(token: &str, keys: &KeySet, expected: &Expected<'_>) -> Result<ReceivedEvent, Refusal> {
    let verified = oidc_rp::verify_typed(token, TOKEN_TYPE, keys, &ALGORITHMS)?;
    let claims = verified.get();
    // Other kinds of JWTs have these claims, and SSF forbids them in order to tell the kinds apart.
    if claims.contains_key("exp") {
        return Err(Refusal::new(Reason::ExpPresent, "exp is present, which SSF forbids"));
    }
    if claims.contains_key("sub") {
        return Err(Refusal::new(
            Reason::SubPresent,
            "sub is present, which SSF forbids: the subject is sub_id",
        ));
    }
    check_addressing(claims, expected)?;
    let jti = id(required(claims, "jti")?, "jti", Reason::TokenIdMalformed)?;
    let issued_at = issued_at(claims, expected.now)?;
    let transaction = present(claims, "txn").map(|txn| id(txn, "txn", Reason::TransactionMalformed));
    let (event_type, payload) = only_event(claims)?;
    Ok(ReceivedEvent {
        jti,
        issued_at,
        happened_at: happened_at(claims, payload, expected.now)?,
        transaction: transaction.transpose()?,
        event_type: event_type.to_owned(),
        subject: ReceivedSubject::read(claims, payload)?,
        act: Act::read(event_type, payload)?,
        payload: payload.clone(),
    })
}

fn check_addressing(claims: &Map<String, Value>, expected: &Expected<'_>) -> Result<(), Refusal> {
    let Value::String(issuer) = required(claims, "iss")? else {
        return Err(Refusal::new(Reason::IssuerMalformed, "iss is not a string"));
    };
    if issuer != expected.issuer {
        let detail = format!("iss is {issuer:?}, not {:?}", expected.issuer);
        return Err(Refusal::new(Reason::Issuer, detail));
    }
    let audiences: Option<Vec<&str>> = match required(claims, "aud")? {
        Value::String(audience) => Some(vec![audience]),
        Value::Array(audiences) if audiences.len() <= MAX_AUDIENCES => {
            audiences.iter().map(Value::as_str).collect()
        }
        _ => None,
    };
    let Some(audiences) = audiences else {
        let detail = "aud must be a string or an array of at most 20 strings";
        return Err(Refusal::new(Reason::AudienceMalformed, detail));
    };
    if !audiences.contains(&expected.audience) {
        let detail = format!("aud is {audiences:?}, without {:?}", expected.audience);
        return Err(Refusal::new(Reason::Audience, detail));
    }
    Ok(())
}

/// Reads the ID of a token or transaction.
fn id(value: &Value, name: &str, reason: Reason) -> Result<String, Refusal> {
    match value {
        Value::String(id) if is_printable(id, MAX_ID) => Ok(id.clone()),
        _ => Err(Refusal::new(reason, format!("{name} must be a string of 1 to 255 printable characters"))),
    }
}

/// Reads `iat`, and checks `nbf`.
fn issued_at(claims: &Map<String, Value>, now: Timestamp) -> Result<Timestamp, Refusal> {
    let Some(issued_at) = time(required(claims, "iat")?) else {
        return Err(Refusal::new(Reason::IssuedAtMalformed, "iat must be a number of seconds since 1970"));
    };
    if issued_at > now.plus_millis(SKEW_MILLIS) {
        let detail = format!("iat is {issued_at}, and it is {now} now");
        return Err(Refusal::new(Reason::IssuedInFuture, detail));
    }
    if issued_at < now.plus_millis(-MAX_AGE_MILLIS) {
        let detail = format!("iat is {issued_at}, more than seven days ago; it is {now} now");
        return Err(Refusal::new(Reason::TooOld, detail));
    }
    if let Some(not_before) = present(claims, "nbf")
        && time(not_before).is_none_or(|start| start > now.plus_millis(SKEW_MILLIS))
    {
        return Err(Refusal::new(Reason::NotYetValid, format!("nbf is {not_before}, and it is {now} now")));
    }
    Ok(issued_at)
}

/// Returns type and payload of the event, which must be the only one.
fn only_event(claims: &Map<String, Value>) -> Result<(&str, &Map<String, Value>), Refusal> {
    let Value::Object(events) = required(claims, "events")? else {
        return Err(Refusal::new(Reason::EventsMalformed, "events is not an object"));
    };
    let mut events = events.iter();
    let (event_type, payload) = match (events.next(), events.next()) {
        (Some(event), None) => event,
        (None, _) => return Err(Refusal::new(Reason::NoEvent, "events is empty")),
        (Some((one, _)), Some((another, _))) => {
            let detail = format!("events has several events: {one:?} and {another:?}");
            return Err(Refusal::new(Reason::SeveralEvents, detail));
        }
    };
    if event_type.len() > MAX_EVENT_TYPE || !is_uri(event_type) {
        let detail = format!("the type of the event is {event_type:?}, not a URI of at most 500 bytes");
        return Err(Refusal::new(Reason::EventTypeMalformed, detail));
    }
    match payload {
        Value::Object(payload) => Ok((event_type, payload)),
        _ => Err(Refusal::new(Reason::EventMalformed, format!("the event {event_type} is not an object"))),
    }
}

/// Reads both dates of the event, and returns the one that is more specific.
fn happened_at(
    claims: &Map<String, Value>,
    payload: &Map<String, Value>,
    now: Timestamp,
) -> Result<Option<Timestamp>, Refusal> {
    let read = |name: &str, value: Option<&Value>, read: fn(&Value) -> Option<Timestamp>| {
        let Some(value) = value else { return Ok(None) };
        match read(value) {
            None => {
                let detail = format!("{name} must be a number of seconds since 1970");
                Err(Refusal::new(Reason::EventTimeMalformed, detail))
            }
            Some(at) if at > now.plus_millis(SKEW_MILLIS) => {
                let detail = format!("{name} is {at}, and it is {now} now");
                Err(Refusal::new(Reason::EventInFuture, detail))
            }
            at => Ok(at),
        }
    };
    let of_token = read("toe", present(claims, "toe"), time)?;
    let of_event = read("event_timestamp", present(payload, "event_timestamp"), event_time)?;
    Ok(of_event.or(of_token))
}
