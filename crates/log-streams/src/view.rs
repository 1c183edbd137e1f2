//! Streams as the API shows them.

use kernel::Timestamp;
use serde::Serialize;
use webhooks::EventFilter;

use crate::{DestinationType, LogStream, LogStreamId, Problem, StreamState};

/// A log stream.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = LogStream))]
pub struct LogStreamView {
    /// `lst_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    id: LogStreamId,
    name: String,
    #[serde(rename = "type")]
    kind: DestinationType,
    #[cfg_attr(feature = "openapi", schema(format = "uri"))]
    url: String,
    /// Whether the stream has a secret, which is never shown.
    has_secret: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    bucket: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    access_key_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    ca_certificates: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    client_certificate: Option<String>,
    /// Patterns of event types; `*` matches any characters.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    event_filters: Vec<EventFilter>,
    /// Whether entries are sent.
    enabled: bool,
    /// Position in the audit log of the next entry to send.
    position: u64,
    /// Number of sealed entries that the stream has not passed yet.
    waiting: u64,
    /// When the receiver last accepted a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    delivered_at: Option<Timestamp>,
    /// The first failure since the last success, while the stream fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    failing_since: Option<Timestamp>,
    /// The last failure, while the stream fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    problem: Option<Problem>,
    /// When the next attempt is due, while the stream fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    next_attempt_at: Option<Timestamp>,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    created_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    updated_at: Timestamp,
}

impl LogStreamView {
    /// Shows a stream of a log with this number of sealed entries.
    pub fn new(stream: &LogStream, state: &StreamState, size: u64) -> Self {
        let destination = stream.destination.clone();
        let is_failing = stream.enabled && state.failing_since.is_some();
        Self {
            id: stream.id.clone(),
            name: stream.name.clone(),
            kind: destination.kind,
            url: destination.url,
            has_secret: stream.sealed.is_some(),
            header: destination.header,
            bucket: destination.bucket,
            region: destination.region,
            prefix: destination.prefix,
            access_key_id: destination.access_key_id,
            ca_certificates: destination.ca_certificates,
            client_certificate: destination.client_certificate,
            event_filters: stream.event_filters.clone(),
            enabled: stream.enabled,
            position: state.position,
            waiting: size.saturating_sub(state.position),
            delivered_at: state.delivered_at,
            failing_since: state.failing_since.filter(|_| is_failing),
            problem: state.problem.clone().filter(|_| is_failing),
            next_attempt_at: state.next_attempt_at.filter(|_| is_failing),
            created_at: stream.created_at,
            updated_at: stream.updated_at,
        }
    }
}
