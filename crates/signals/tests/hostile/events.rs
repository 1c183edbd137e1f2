//! Tokens whose event is wrong.

use serde_json::json;
use signals::Reason;

use crate::{
    check_claims, event,
    transmitter::{SESSION_REVOKED, now, seconds},
    with, without,
};

const CAEP: &str = "https://schemas.openid.net/secevent/caep/event-type";
const RISC: &str = "https://schemas.openid.net/secevent/risc/event-type";
const SSF: &str = "https://schemas.openid.net/secevent/ssf/event-type";

#[test]
fn malformed_events_are_refused() {
    let at = |value| event(SESSION_REVOKED, json!({ "event_timestamp": value }));
    check_claims([
        ("events is missing", Reason::ClaimMissing, without("events")),
        ("events is null", Reason::ClaimMissing, with("events", json!(null))),
        ("events is a string", Reason::EventsMalformed, with("events", SESSION_REVOKED)),
        ("events is an array", Reason::EventsMalformed, with("events", json!([{ SESSION_REVOKED: {} }]))),
        ("events is empty", Reason::NoEvent, with("events", json!({}))),
        (
            "two events",
            Reason::SeveralEvents,
            with("events", json!({ SESSION_REVOKED: {}, "https://idp.example.com/more": {} })),
        ),
        ("type is not a URI", Reason::EventTypeMalformed, event("session-revoked", json!({}))),
        ("type is empty", Reason::EventTypeMalformed, event("", json!({}))),
        ("type without a scheme", Reason::EventTypeMalformed, event("://schemas.openid.net", json!({}))),
        ("type with a space", Reason::EventTypeMalformed, event(&format!("{SESSION_REVOKED} "), json!({}))),
        (
            "type is too long",
            Reason::EventTypeMalformed,
            event(&format!("urn:{}", "x".repeat(497)), json!({})),
        ),
        ("event is null", Reason::EventMalformed, event(SESSION_REVOKED, json!(null))),
        ("event is a string", Reason::EventMalformed, event(SESSION_REVOKED, "revoked")),
        ("event is an array", Reason::EventMalformed, event(SESSION_REVOKED, json!([{}]))),
        ("event is true", Reason::EventMalformed, event(SESSION_REVOKED, true)),
        ("event_timestamp is a string", Reason::EventTimeMalformed, at(json!(seconds(0).to_string()))),
        ("event_timestamp is negative", Reason::EventTimeMalformed, at(json!(-1))),
        ("event_timestamp is an object", Reason::EventTimeMalformed, at(json!({}))),
        ("event_timestamp in microseconds", Reason::EventTimeMalformed, at(json!(seconds(0) * 1_000_000))),
        ("event_timestamp in the future", Reason::EventInFuture, at(json!(seconds(61)))),
        (
            "event_timestamp in the future in milliseconds",
            Reason::EventInFuture,
            at(json!(now().unix_millis() + 60_001)),
        ),
    ]);
}

#[test]
fn events_that_do_not_conform_to_their_type_are_refused() {
    let change = |payload| event(&format!("{CAEP}/credential-change"), payload);
    let level = |payload| event(&format!("{CAEP}/assurance-level-change"), payload);
    let compromise = |payload| event(&format!("{RISC}/credential-compromise"), payload);
    let updated = |payload| event(&format!("{SSF}/stream-updated"), payload);
    let cases = [
        ("a change without the type of credential", change(json!({ "change_type": "create" }))),
        ("a change without its type", change(json!({ "credential_type": "password" }))),
        ("an unknown change", change(json!({ "credential_type": "password", "change_type": "rotate" }))),
        ("a change in upper case", change(json!({ "credential_type": "password", "change_type": "Create" }))),
        ("a change whose type is a number", change(json!({ "credential_type": "pin", "change_type": 1 }))),
        ("a credential that is a number", change(json!({ "credential_type": 1, "change_type": "create" }))),
        ("a level without namespace", level(json!({ "current_level": "nist-aal2" }))),
        ("a level that is missing", level(json!({ "namespace": "NIST-AAL" }))),
        ("a level that is a number", level(json!({ "namespace": "NIST-AAL", "current_level": 2 }))),
        (
            "a former level that is a number",
            level(json!({ "namespace": "NIST-AAL", "current_level": "nist-aal2", "previous_level": 1 })),
        ),
        (
            "a level that moves sideways",
            level(json!({ "namespace": "a", "current_level": "b", "change_direction": "sideways" })),
        ),
        ("a compromise of nothing", compromise(json!({}))),
        ("a compromise of a list", compromise(json!({ "credential_type": ["password"] }))),
        (
            "a disabled account for a number",
            event(&format!("{RISC}/account-disabled"), json!({ "reason": 1 })),
        ),
        (
            "a changed identifier that is an object",
            event(&format!("{RISC}/identifier-changed"), json!({ "new-value": {} })),
        ),
        ("a verification of a number", event(&format!("{SSF}/verification"), json!({ "state": 1 }))),
        (
            "a verification of a control character",
            event(&format!("{SSF}/verification"), json!({ "state": "\u{7}" })),
        ),
        ("a stream without status", updated(json!({ "reason": "Internal error" }))),
        ("a stream with an unknown status", updated(json!({ "status": "deleted" }))),
        ("a stream with a reason that is a list", updated(json!({ "status": "paused", "reason": [] }))),
    ];
    check_claims(cases.map(|(name, claims)| (name, Reason::PayloadMalformed, claims)));
}
