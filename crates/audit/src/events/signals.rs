//! Shared signals: receivers, their streams, and the keys that sign.

use std::collections::BTreeMap;

use super::define::{Actor, BY_TRANSMITTER, BY_USER, Resource, events};

const RECEIVER: Resource = ("signal_receiver", "rcv_01jz5555555555555555555555");
const STREAM: Resource = ("signal_stream", "sst_01jz6666666666666666666666");
const KEY: Resource = ("signal_key", "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
const TRANSMITTER: Resource = ("signal_transmitter", "trm_01jz9999999999999999999999");
const BY_RECEIVER: Actor = ("rcv_01jz5555555555555555555555", "SYSTEM");

fn one(kind: &str, consequence: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(kind.into(), consequence.into())])
}

events! {
    /// A receiver of shared signals was added.
    SignalReceiverCreated = "ACCOUNT_SIGNAL_RECEIVER_CREATED" (RECEIVER, BY_USER) {
        /// Whom its tokens are for.
        audience: String = "https://receiver.example.com/".into(),
    }
    /// A receiver of shared signals was changed.
    SignalReceiverUpdated = "ACCOUNT_SIGNAL_RECEIVER_UPDATED" (RECEIVER, BY_USER) {
        /// Names of the fields that changed.
        changed: Vec<String> = vec!["eventTypes".into()],
    }
    /// A receiver of shared signals was removed with its stream.
    SignalReceiverDeleted = "ACCOUNT_SIGNAL_RECEIVER_DELETED" (RECEIVER, BY_USER) {}
    /// The access token of a receiver of shared signals was replaced.
    SignalReceiverTokenReplaced = "ACCOUNT_SIGNAL_RECEIVER_TOKEN_REPLACED" (RECEIVER, BY_USER) {}
    /// A receiver of shared signals created its stream.
    SignalStreamCreated = "ACCOUNT_SIGNAL_STREAM_CREATED" (STREAM, BY_RECEIVER) {
        /// ID of the receiver.
        receiver: String = "rcv_01jz5555555555555555555555".into(),
        /// `push` or `poll`.
        delivery: String = "push".into(),
    }
    /// A receiver of shared signals changed its stream.
    SignalStreamUpdated = "ACCOUNT_SIGNAL_STREAM_UPDATED" (STREAM, BY_RECEIVER) {
        /// ID of the receiver.
        receiver: String = "rcv_01jz5555555555555555555555".into(),
        /// Status of the stream: `enabled`, `paused` or `disabled`.
        status: String = "enabled".into(),
    }
    /// A receiver of shared signals deleted its stream.
    SignalStreamDeleted = "ACCOUNT_SIGNAL_STREAM_DELETED" (STREAM, BY_RECEIVER) {
        /// ID of the receiver.
        receiver: String = "rcv_01jz5555555555555555555555".into(),
    }
    /// A receiver of shared signals removed a subject from its stream, or added one again.
    SignalSubjectChanged = "ACCOUNT_SIGNAL_SUBJECT_CHANGED" (STREAM, BY_RECEIVER) {
        /// ID of the receiver.
        receiver: String = "rcv_01jz5555555555555555555555".into(),
        /// Whether the stream is about the subject from now on.
        wanted: bool = false,
    }
    /// A receiver of shared signals requested a verification event.
    SignalStreamVerified = "ACCOUNT_SIGNAL_STREAM_VERIFIED" (STREAM, BY_RECEIVER) {
        /// ID of the receiver.
        receiver: String = "rcv_01jz5555555555555555555555".into(),
    }
    /// A new key signs shared signals.
    SignalKeyCreated = "ACCOUNT_SIGNAL_KEY_CREATED" (KEY, BY_USER) {
        /// Whether it replaces another key.
        replaces: bool = true,
    }
    /// A transmitter of shared signals was added.
    SignalTransmitterCreated = "ACCOUNT_SIGNAL_TRANSMITTER_CREATED" (TRANSMITTER, BY_USER) {
        /// The issuer of its tokens.
        issuer: String = "https://transmitter.example.com/".into(),
        /// ID of the SSO connection whose users its events are about.
        connection: String = "oidc_01jz111111111111111111111101jz2222222222222222222222".into(),
        /// What each kind of event does. The others are only recorded.
        consequences: BTreeMap<String, String> = one("sessionRevoked", "END_SESSIONS"),
        /// Whether its requests need the header `Authorization`.
        requires_authorization: bool = true,
    }
    /// A transmitter of shared signals was changed.
    SignalTransmitterUpdated = "ACCOUNT_SIGNAL_TRANSMITTER_UPDATED" (TRANSMITTER, BY_USER) {
        /// Names of the fields that changed.
        changed: Vec<String> = vec!["consequences".into()],
        /// What each kind of event did before, if that changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        consequences_before: Option<BTreeMap<String, String>> = Some(one("sessionRevoked", "END_SESSIONS")),
        /// What each kind of event does now, if that changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        consequences: Option<BTreeMap<String, String>> = Some(one("sessionRevoked", "DISABLE_USER")),
    }
    /// A transmitter of shared signals was removed.
    SignalTransmitterDeleted = "ACCOUNT_SIGNAL_TRANSMITTER_DELETED" (TRANSMITTER, BY_USER) {}
    /// The token with which a transmitter of shared signals pushes events was replaced.
    SignalTransmitterTokenReplaced = "ACCOUNT_SIGNAL_TRANSMITTER_TOKEN_REPLACED" (TRANSMITTER, BY_USER) {
        /// Whether its requests needed the header `Authorization` before. They do now.
        was_required: bool = true,
    }
    /// An event of a transmitter of shared signals was accepted.
    SignalReceived = "ACCOUNT_SIGNAL_RECEIVED" (TRANSMITTER, BY_TRANSMITTER) {
        /// ID of the token (`jti`).
        jti: String = "24c63fb56e5a2d77a6b512616ca9fa24".into(),
        /// URI of the type of the event.
        event_type: String = "https://schemas.openid.net/secevent/caep/event-type/session-revoked".into(),
        /// When it happened, according to the transmitter.
        occurred_at: String = "2026-01-01T00:00:00.000Z".into(),
        /// ID that tokens with the same cause have in common (`txn`).
        #[serde(skip_serializing_if = "Option::is_none")]
        transaction: Option<String> = Some("8675309".into()),
        /// Format of the subject (RFC 9493).
        subject_format: String = "iss_sub".into(),
        /// Issuer of an unknown subject, to compare with that of the connection.
        #[serde(skip_serializing_if = "Option::is_none")]
        subject_issuer: Option<String> = None,
        /// ID of the user that it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        user: Option<String> = Some("usr_01jz2222222222222222222222".into()),
        /// `RECORDED`, `STEP_UP_REQUIRED`, `SESSIONS_ENDED` or `USER_DISABLED`.
        outcome: String = "SESSIONS_ENDED".into(),
        /// Why it did less than the administrator permits: `SUBJECT_UNKNOWN`: the connection knows no such user, `SUPERSEDED`: a later event that restored the state was received before, `SESSIONS_BEGAN_LATER`: all sessions of the user began after the event, `ALREADY_DISABLED`, `NO_SECOND_FACTOR`: sessions ended because the user has none, `BREAK_GLASS` and `LAST_ADMINISTRATOR`: the sessions of such a user ended, and the user was not disabled (`LAST_ADMINISTRATOR`: without the user, no administrator could sign in), or `CONNECTION_REMOVED`.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String> = None,
        /// Number of sessions that it affected. The sessions of a disabled user are not counted.
        sessions: u64 = 2,
    }
    /// A token of a transmitter of shared signals was refused.
    SignalRefused = "ACCOUNT_SIGNAL_REFUSED" (TRANSMITTER, BY_TRANSMITTER) {
        /// Why, such as `SIGNATURE_INVALID` or `WRONG_AUDIENCE`.
        reason: String = "WRONG_AUDIENCE".into(),
        /// What was found and what was expected.
        detail: String = r#"aud is ["https://other.example/"], without "https://gatehouse.example.com/""#.into(),
        /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        suppressed: Option<u64> = None,
    }
}

#[cfg(test)]
mod tests {
    use crate::events::catalog;

    #[test]
    fn examples_of_consequences_name_an_event_type() {
        let examples = catalog().specs().iter().map(|spec| &spec.example["data"]["consequences"]);
        let found: Vec<_> = examples.filter(|consequences| consequences.is_object()).collect();
        assert_eq!(found.len(), 2);
        for consequences in found {
            assert!(consequences["sessionRevoked"].is_string(), "{consequences}");
        }
    }
}
