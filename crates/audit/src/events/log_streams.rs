//! Streams of the audit log.

use super::define::{BY_USER, Resource, events};

const LOG_STREAM: Resource = ("log_stream", "lst_01jz5555555555555555555555");

events! {
    /// A stream of the audit log was added.
    LogStreamCreated = "ACCOUNT_LOG_STREAM_CREATED" (LOG_STREAM, BY_USER) {
        /// `HTTPS`, `SPLUNK_HEC`, `OTLP`, `SYSLOG` or `S3`.
        r#type: String = "SPLUNK_HEC".into(),
        /// Position in the audit log of the first entry that it sends.
        from: u64 = 0,
    }
    /// A stream of the audit log was changed.
    LogStreamUpdated = "ACCOUNT_LOG_STREAM_UPDATED" (LOG_STREAM, BY_USER) {
        /// Names of the fields that changed.
        changed: Vec<String> = vec!["url".into()],
    }
    /// A stream of the audit log was removed.
    LogStreamDeleted = "ACCOUNT_LOG_STREAM_DELETED" (LOG_STREAM, BY_USER) {}
    /// A stream of the audit log continues at another position.
    LogStreamResent = "ACCOUNT_LOG_STREAM_RESENT" (LOG_STREAM, BY_USER) {
        /// Position of the next entry that it sends.
        from: u64 = 0,
    }
    /// The receiver of a stream has accepted nothing for an hour.
    LogStreamFailing = "ACCOUNT_LOG_STREAM_FAILING" (LOG_STREAM, BY_USER) {
        /// First failure since the last success.
        failing_since: String = "2026-01-30T00:00:00.000Z".into(),
        /// Code of the last failure, as in the API.
        problem: String = "CONNECT".into(),
    }
}
