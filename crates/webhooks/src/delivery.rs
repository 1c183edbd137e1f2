//! What is sent, and what came of it.

use bytes::Bytes;
use kernel::{Id, Kind, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;

/// Marks ids of deliveries.
#[derive(Debug, Clone, Copy)]
pub enum DeliveryKind {}
impl Kind for DeliveryKind {
    const PREFIX: &'static str = "dlv";
}
/// `dlv_…`
pub type DeliveryId = Id<DeliveryKind>;

/// Marks ids of events.
#[derive(Debug, Clone, Copy)]
pub enum EventIdKind {}
impl Kind for EventIdKind {
    const PREFIX: &'static str = "evt";
}
/// `evt_…` of an event that is in no ledger; one that is has its entry's key.
pub type EventId = Id<EventIdKind>;

/// The event type of a test.
pub const TEST: &str = "service.webhook.test";

/// Who did what the event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PayloadActor<'p> {
    /// The user's, token's or provider's id.
    pub id: &'p str,
    /// `USER`, `SCIM`, `SYSTEM` or `SAML`.
    #[serde(rename = "type")]
    pub kind: &'p str,
}

/// What the event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PayloadResource<'p> {
    /// Such as `user`.
    #[serde(rename = "type")]
    pub kind: &'p str,
    /// Id of the resource.
    pub id: &'p str,
}

/// The body of a delivery.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Payload<'p> {
    /// `evt_…`, the same in every attempt and for every subscription.
    pub id: &'p str,
    /// The audit code.
    #[serde(rename = "type")]
    pub kind: &'p str,
    /// When it happened.
    pub created_at: Timestamp,
    /// Whose it is.
    pub tenant_id: &'p str,
    /// By whom; nobody's doing has none.
    pub actor: Option<PayloadActor<'p>>,
    /// Resource that the event is about.
    pub resource: PayloadResource<'p>,
    /// The rest, by the type's schema in the catalog.
    pub data: &'p RawValue,
}

impl Payload<'_> {
    /// As it is sent.
    pub fn render(&self) -> Bytes {
        // Strings, a time and JSON that was read: it always has a JSON form.
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}

/// One attempt that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// `dlv_…`
    pub id: DeliveryId,
    /// `evt_…`
    pub event_id: String,
    /// The audit code.
    pub event_type: String,
    /// Number of the attempt, from 1.
    pub number: u32,
    /// Whether it is the first, or was asked for, rather than due by the schedule.
    pub is_fresh: bool,
    /// The payload; `None` where the event is not kept any more.
    pub body: Option<Bytes>,
}

/// Why an attempt had no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptError {
    /// No whole answer within 15 s.
    Timeout,
    /// Nobody listens, or does not speak HTTP.
    Connect,
    /// The certificate is not to be trusted, or TLS failed.
    Tls,
    /// The address is not one that we talk to.
    Blocked,
    /// The event is not kept any more.
    EventDropped,
}

impl AttemptError {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "TIMEOUT",
            Self::Connect => "CONNECT",
            Self::Tls => "TLS",
            Self::Blocked => "BLOCKED",
            Self::EventDropped => "EVENT_DROPPED",
        }
    }
}

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The status of the answer.
    pub status: Option<u16>,
    /// Why there was none.
    pub error: Option<AttemptError>,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
    /// The beginning of the answer's body: 4 KiB at most.
    pub body: Vec<u8>,
    /// The header `Retry-After`.
    pub retry_after: Option<String>,
}

impl Outcome {
    /// An attempt without an answer.
    pub fn failed(error: AttemptError, duration_ms: i64) -> Self {
        Self { status: None, error: Some(error), duration_ms, body: Vec::new(), retry_after: None }
    }

    /// Whether the receiver has it: any 2xx.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// Whether the receiver wants no more: 410.
    pub fn is_gone(&self) -> bool {
        self.status == Some(410)
    }
}

/// What is to be kept of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The attempt.
    pub attempt: Attempt,
    /// What it came to.
    pub outcome: Outcome,
    /// When it was sent.
    pub attempted_at: Timestamp,
    /// The attempt that follows.
    pub next: Option<NextAttempt>,
}

/// An attempt by the schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextAttempt {
    /// `dlv_…`
    pub id: DeliveryId,
    /// When the attempt is due.
    pub at: Timestamp,
}
