//! Deliveries, their attempts and outcomes.

use bytes::Bytes;
use kernel::{Ctx, Id, Kind, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::SubscriptionId;

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
/// `evt_…` of an event outside the audit log; an audit event uses the key of its entry.
pub type EventId = Id<EventIdKind>;

/// The event type of test deliveries.
pub const TEST: &str = "service.webhook.test";

/// The actor who caused the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PayloadActor<'p> {
    /// The id of the user, token or provider.
    pub id: &'p str,
    /// `USER`, `SCIM`, `SYSTEM` or `SAML`.
    #[serde(rename = "type")]
    pub kind: &'p str,
}

/// The resource that the event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PayloadResource<'p> {
    /// The kind, such as `user`.
    #[serde(rename = "type")]
    pub kind: &'p str,
    /// Id of the resource.
    pub id: &'p str,
}

/// The body of a delivery.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Payload<'p> {
    /// `evt_…`, the same in every attempt and for all subscriptions.
    pub id: &'p str,
    /// The audit code.
    #[serde(rename = "type")]
    pub kind: &'p str,
    /// When it happened.
    pub created_at: Timestamp,
    /// The id of the tenant.
    pub tenant_id: &'p str,
    /// The actor; `None` if the event has none.
    pub actor: Option<PayloadActor<'p>>,
    /// Resource that the event is about.
    pub resource: PayloadResource<'p>,
    /// The event's data, as described by the catalog's schema for the type.
    pub data: &'p RawValue,
}

impl Payload<'_> {
    /// Renders the payload as JSON.
    pub fn render(&self) -> Bytes {
        // Strings, a timestamp and valid JSON always serialize.
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}

/// An attempt that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// `dlv_…`
    pub id: DeliveryId,
    /// `evt_…`
    pub event_id: String,
    /// The audit code.
    pub event_type: String,
    /// What the event is about, if the subscription is ordered.
    pub subject: Option<String>,
    /// Number of the attempt, from 1.
    pub number: u32,
    /// Whether it is a first attempt or a manual redelivery, not a scheduled retry.
    pub is_fresh: bool,
    /// The payload; `None` if the event is no longer stored.
    pub body: Option<Bytes>,
}

impl Attempt {
    /// Creates the single attempt to deliver a test event to a subscription.
    pub fn test(ctx: &Ctx, subscription: &SubscriptionId, now: Timestamp) -> Self {
        let event_id = EventId::new(&*ctx.env).to_string();
        // An empty object is valid JSON.
        let data = RawValue::from_string("{}".into()).unwrap_or_default();
        let payload = Payload {
            id: &event_id,
            kind: TEST,
            created_at: now,
            tenant_id: ctx.tenant.as_str(),
            actor: Some(PayloadActor { id: &ctx.actor.id, kind: ctx.actor.kind.as_str() }),
            resource: PayloadResource { kind: "webhook", id: subscription.as_str() },
            data: &data,
        };
        let body = Some(payload.render());
        Self {
            id: DeliveryId::new(&*ctx.env),
            event_id,
            event_type: TEST.to_owned(),
            subject: None,
            number: 1,
            is_fresh: true,
            body,
        }
    }
}

/// Why there was no response. `EVENT_DROPPED`: the event was purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = DeliveryError))]
#[non_exhaustive]
pub enum AttemptError {
    /// No complete response within 15 s.
    Timeout,
    /// The receiver is unreachable or does not speak HTTP.
    Connect,
    /// TLS failed, or the certificate is not trusted.
    Tls,
    /// The address guard blocks the address.
    Blocked,
    /// The event is no longer stored.
    EventDropped,
}

impl AttemptError {
    /// All errors.
    pub const ALL: [Self; 5] = [Self::Timeout, Self::Connect, Self::Tls, Self::Blocked, Self::EventDropped];

    /// Returns the code used in the API and in storage.
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

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The status code of the response.
    pub status: Option<u16>,
    /// The reason there was no response.
    pub error: Option<AttemptError>,
    /// The duration in milliseconds.
    pub duration_ms: i64,
    /// The first 4 KiB of the response body.
    pub body: Vec<u8>,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
}

impl Outcome {
    /// Creates the outcome of an attempt without a response.
    pub fn failed(error: AttemptError, duration_ms: i64) -> Self {
        Self { status: None, error: Some(error), duration_ms, body: Vec::new(), retry_after: None }
    }

    /// Returns whether the receiver accepted the delivery (2xx).
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// All values of [`Outcome::label`].
    pub const LABELS: [&str; 7] =
        ["succeeded", "refused", "timeout", "connect", "tls", "blocked", "event_dropped"];

    /// Returns the kind of outcome in a word, for metrics.
    pub fn label(&self) -> &'static str {
        match self.error {
            _ if self.is_success() => "succeeded",
            None => "refused",
            Some(AttemptError::Timeout) => "timeout",
            Some(AttemptError::Connect) => "connect",
            Some(AttemptError::Tls) => "tls",
            Some(AttemptError::Blocked) => "blocked",
            Some(AttemptError::EventDropped) => "event_dropped",
        }
    }

    /// Returns whether the receiver wants no more deliveries (410).
    pub fn is_gone(&self) -> bool {
        self.status == Some(410)
    }
}

/// The record of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The attempt.
    pub attempt: Attempt,
    /// Its outcome.
    pub outcome: Outcome,
    /// When it was sent.
    pub attempted_at: Timestamp,
    /// The retry to schedule, if any.
    pub next: Option<NextAttempt>,
}

/// A scheduled retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextAttempt {
    /// `dlv_…`
    pub id: DeliveryId,
    /// When the attempt is due.
    pub at: Timestamp,
}

#[cfg(test)]
impl Attempt {
    /// Returns an attempt to deliver an event, with an ID of its own.
    pub(crate) fn sample(env: &dyn kernel::Env, number: u32) -> Self {
        Self {
            id: DeliveryId::new(env),
            event_id: "evt_1".into(),
            event_type: "ACCOUNT_USER_CREATED".into(),
            subject: None,
            number,
            is_fresh: number == 1,
            body: None,
        }
    }
}

#[cfg(test)]
impl Outcome {
    /// Returns the outcome of an attempt that was answered with this status after a millisecond.
    pub(crate) fn answered(status: u16) -> Self {
        Self { status: Some(status), error: None, ..Self::failed(AttemptError::Connect, 1) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kernel::{Actor, ManualEnv, TenantId};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn test_event_names_tenant_webhook_and_actor() {
        let now = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let env = Arc::new(ManualEnv::at(now));
        let ctx = Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test"));
        let subscription = SubscriptionId::new(&*env);
        let attempt = Attempt::test(&ctx, &subscription, now);
        let body = attempt.body.as_deref().unwrap();
        let expected = json!({
            "id": attempt.event_id,
            "type": "service.webhook.test",
            "createdAt": "2026-01-01T00:00:00.000Z",
            "tenantId": ctx.tenant,
            "actor": { "id": ctx.actor.id, "type": ctx.actor.kind.as_str() },
            "resource": { "type": "webhook", "id": subscription },
            "data": {},
        });
        assert_eq!(serde_json::from_slice::<Value>(body).unwrap(), expected);
    }

    #[test]
    fn codes_of_errors_are_those_of_their_json() {
        for error in AttemptError::ALL {
            assert_eq!(serde_json::to_value(error).unwrap(), error.as_str());
        }
    }

    #[test]
    fn every_outcome_has_a_known_label() {
        let failed = AttemptError::ALL.map(|error| Outcome::failed(error, 5));
        let outcomes = [204, 500].map(Outcome::answered).into_iter().chain(failed);
        let labels: Vec<_> = outcomes.map(|outcome| outcome.label()).collect();
        assert_eq!(labels, Outcome::LABELS);
    }
}
