//! Hostile tokens, each made by one change of a valid token, with the reason for which they are refused.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod claims;
mod events;
mod subjects;
mod tokens;
#[path = "../transmitter/mod.rs"]
mod transmitter;

use oidc_rp::Algorithm;
use serde_json::{Value, json};
use signals::Reason;

use transmitter::Transmitter;

/// A name, the expected reason, and a token or claims.
type Case<T> = (&'static str, Reason, T);

fn check_tokens<const N: usize>(transmitter: &Transmitter, cases: [Case<String>; N]) {
    transmitter.receive(&transmitter::claims()).unwrap();
    for (name, reason, token) in cases {
        let refused = transmitter.verify(&token).unwrap_err();
        assert_eq!(refused.reason, reason, "{name}: {refused}");
        assert!(refused.detail.chars().count() <= 500, "{name}");
        assert!(!refused.detail.chars().any(char::is_control), "{name}");
    }
}

fn check_claims<const N: usize>(cases: [Case<Value>; N]) {
    let transmitter = Transmitter::new();
    let sign = |(name, reason, claims)| (name, reason, transmitter.token(Algorithm::ES256, &claims));
    check_tokens(&transmitter, cases.map(sign));
}

/// Returns valid claims with another value of one member.
fn with(name: &str, value: impl Into<Value>) -> Value {
    let mut claims = transmitter::claims();
    claims[name] = value.into();
    claims
}

/// Returns valid claims without one member.
fn without(name: &str) -> Value {
    let mut claims = transmitter::claims();
    claims.as_object_mut().unwrap().remove(name).unwrap();
    claims
}

/// Returns valid claims with another event.
fn event(event_type: &str, payload: impl Into<Value>) -> Value {
    with("events", json!({ event_type: payload.into() }))
}
