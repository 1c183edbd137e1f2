//! Shared signals: receivers, their streams, and the keys that sign.

use super::define::{Actor, BY_USER, Resource, events};

const RECEIVER: Resource = ("signal_receiver", "rcv_01jz5555555555555555555555");
const STREAM: Resource = ("signal_stream", "sst_01jz6666666666666666666666");
const KEY: Resource = ("signal_key", "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
const BY_RECEIVER: Actor = ("rcv_01jz5555555555555555555555", "SYSTEM");

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
}
