//! Receivers, streams and the transmitter as the API shows them.

use kernel::Timestamp;
use serde::Serialize;

use crate::{
    Delivery, EventType, Problem, Receiver, ReceiverId, Status, Stream, StreamId, StreamState, SubjectFormat,
    stream::{MIN_VERIFICATION_INTERVAL, POLL, PUSH},
};

/// A receiver, as administrators see it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = SignalReceiver))]
pub struct ReceiverView {
    /// `rcv_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    id: ReceiverId,
    name: String,
    audience: String,
    /// URIs of the event types that it may receive.
    event_types: Vec<EventType>,
    subject_format: SubjectFormat,
    /// Whether it may receive events.
    enabled: bool,
    /// The stream that it has created, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    stream: Option<StreamSummary>,
    /// When it last used its access token, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    last_used_at: Option<Timestamp>,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    created_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    updated_at: Timestamp,
}

/// The stream of a receiver, as administrators see it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = SignalStreamSummary))]
pub struct StreamSummary {
    /// `sst_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    id: StreamId,
    status: Status,
    /// Why it has this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    reason: Option<String>,
    /// The URL that tokens are posted to. Absent if the receiver polls.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    endpoint_url: Option<String>,
    /// URIs of the event types that the receiver has requested and may receive.
    event_types: Vec<EventType>,
    /// Number of events that wait, up to 10,000.
    pending: i64,
    /// When the receiver last accepted an event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    delivered_at: Option<Timestamp>,
    /// The first failure since the last success, while the stream fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    failing_since: Option<Timestamp>,
    /// The last failure, while the stream fails, or the last refusal of a token since the receiver accepted one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    problem: Option<Problem>,
    /// When the next attempt is due, while the stream fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    next_attempt_at: Option<Timestamp>,
}

impl ReceiverView {
    /// Shows a receiver with its stream.
    pub fn new(receiver: &Receiver, stream: Option<&(Stream, StreamState)>) -> Self {
        Self {
            id: receiver.id.clone(),
            name: receiver.name.clone(),
            audience: receiver.audience.clone(),
            event_types: receiver.event_types.clone(),
            subject_format: receiver.subject_format,
            enabled: receiver.enabled,
            stream: stream.map(|(stream, state)| StreamSummary::new(receiver, stream, state)),
            last_used_at: receiver.last_used_at,
            created_at: receiver.created_at,
            updated_at: receiver.updated_at,
        }
    }
}

impl StreamSummary {
    fn new(receiver: &Receiver, stream: &Stream, state: &StreamState) -> Self {
        // Events that waited for a receiver that fails may be gone since.
        let is_failing =
            stream.status == Status::Enabled && state.failing_since.is_some() && state.pending > 0;
        Self {
            id: stream.id.clone(),
            status: stream.status,
            reason: stream.reason.clone(),
            endpoint_url: match &stream.delivery {
                Delivery::Push(url) => Some(url.clone()),
                Delivery::Poll => None,
            },
            event_types: stream.agreed(receiver),
            pending: state.pending,
            delivered_at: state.delivered_at,
            failing_since: state.failing_since.filter(|_| is_failing),
            problem: state.problem.clone().filter(|_| is_failing || state.failing_since.is_none()),
            next_attempt_at: state.next_attempt_at.filter(|_| is_failing),
        }
    }
}

/// The configuration of a stream (SSF 1.0, section 8.1.1).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalStream))]
pub struct StreamView {
    /// `sst_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    stream_id: StreamId,
    /// The issuer of the tenant.
    iss: String,
    /// The audience of the receiver.
    aud: String,
    /// URIs of the event types that the receiver may receive.
    events_supported: Vec<EventType>,
    /// URIs of the event types that the receiver has requested.
    events_requested: Vec<String>,
    /// URIs of the event types that the stream delivers.
    events_delivered: Vec<EventType>,
    delivery: DeliveryView,
    /// Shortest time between two verification requests, in seconds.
    min_verification_interval: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    description: Option<String>,
}

/// The delivery of a stream (SSF 1.0, section 6.1).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalDelivery))]
pub struct DeliveryView {
    /// `urn:ietf:rfc:8935` (push) or `urn:ietf:rfc:8936` (poll).
    method: &'static str,
    /// Where tokens are posted to, or where the receiver polls.
    endpoint_url: String,
}

impl StreamView {
    /// Shows a stream of an issuer, whose receivers poll at `poll_url`.
    pub fn new(receiver: &Receiver, stream: &Stream, issuer: &str, poll_url: String) -> Self {
        let all = || receiver.event_types.iter().map(|one| one.uri().to_owned()).collect();
        let delivery = match &stream.delivery {
            Delivery::Push(url) => DeliveryView { method: PUSH, endpoint_url: url.clone() },
            Delivery::Poll => DeliveryView { method: POLL, endpoint_url: poll_url },
        };
        Self {
            stream_id: stream.id.clone(),
            iss: issuer.to_owned(),
            aud: receiver.audience.clone(),
            events_supported: receiver.event_types.clone(),
            events_requested: stream.requested.clone().unwrap_or_else(all),
            events_delivered: stream.agreed(receiver),
            delivery,
            min_verification_interval: MIN_VERIFICATION_INTERVAL,
            description: stream.description.clone(),
        }
    }
}

/// The status of a stream (SSF 1.0, section 8.1.2).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalStreamState))]
pub struct StatusView {
    /// `sst_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    stream_id: StreamId,
    status: Status,
    /// Why it has this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    reason: Option<String>,
}

impl From<&Stream> for StatusView {
    fn from(stream: &Stream) -> Self {
        Self { stream_id: stream.id.clone(), status: stream.status, reason: stream.reason.clone() }
    }
}

/// The configuration of a transmitter (SSF 1.0, section 7.1).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalTransmitter))]
pub struct Transmitter {
    /// `1_0`.
    spec_version: &'static str,
    /// The issuer of the tenant.
    issuer: String,
    jwks_uri: String,
    delivery_methods_supported: [&'static str; 2],
    configuration_endpoint: String,
    status_endpoint: String,
    add_subject_endpoint: String,
    remove_subject_endpoint: String,
    verification_endpoint: String,
    authorization_schemes: [AuthorizationScheme; 1],
    /// `ALL`: new streams are about all accounts.
    default_subjects: &'static str,
}

/// How receivers prove who they are.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalAuthorizationScheme))]
pub struct AuthorizationScheme {
    /// `urn:ietf:rfc:6749`: with a bearer token.
    spec_urn: &'static str,
}

impl Transmitter {
    /// Describes the transmitter of an issuer. `api` is the URL that its endpoints begin with.
    pub fn new(issuer: &str, api: &str) -> Self {
        let at = |path: &str| [api, path].concat();
        Self {
            spec_version: "1_0",
            issuer: issuer.to_owned(),
            jwks_uri: [issuer, "/jwks"].concat(),
            delivery_methods_supported: [PUSH, POLL],
            configuration_endpoint: at("/stream"),
            status_endpoint: at("/status"),
            add_subject_endpoint: at("/subjects/add"),
            remove_subject_endpoint: at("/subjects/remove"),
            verification_endpoint: at("/verify"),
            authorization_schemes: [AuthorizationScheme { spec_urn: "urn:ietf:rfc:6749" }],
            default_subjects: "ALL",
        }
    }
}
