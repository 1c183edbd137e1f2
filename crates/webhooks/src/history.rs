//! Past deliveries and replays of events.

use kernel::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

#[cfg(feature = "openapi")]
use crate::AttemptError;
use crate::error::Error;

/// Number of hours that the activity covers.
const HOURS: i64 = 24;
/// Milliseconds per hour.
const HOUR: i64 = 3_600_000;

/// `FAILED` attempts are retried unless `final` is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum DeliveryStatus {
    /// It has no outcome yet.
    Pending,
    /// The receiver accepted it.
    Succeeded,
    /// The receiver did not accept it.
    Failed,
}

/// An attempt to deliver an event. Each retry is a separate attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = WebhookDelivery))]
pub struct Delivered {
    /// `dlv_…`
    pub id: String,
    /// `evt_…`. The same for all attempts.
    pub event_id: String,
    /// The audit code.
    pub event_type: String,
    /// Number of the attempt, from 1.
    pub attempt: i64,
    /// `PENDING`, `SUCCEEDED` or `FAILED`.
    pub status: DeliveryStatus,
    /// Only if true: it is sent once earlier events of the same subject are delivered or given up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub waiting: bool,
    /// Whether no automatic attempt follows.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Status of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub http_status: Option<i64>,
    /// Why there was no response: `TIMEOUT`, `CONNECT`, `TLS`, `BLOCKED`, or `EVENT_DROPPED` if the event was purged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<AttemptError>))]
    pub error: Option<String>,
    /// Duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub duration_ms: Option<i64>,
    /// First 4 KiB of the response.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "lossy")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>))]
    pub response_body: Option<Vec<u8>>,
    /// When it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    pub attempted_at: Option<Timestamp>,
    /// When it will be sent; for a failed attempt, when the next one will be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    pub next_attempt_at: Option<Timestamp>,
}

/// Serializes a body as text. Invalid UTF-8 becomes U+FFFD.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn lossy<S: Serializer>(body: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    body.as_deref().map(String::from_utf8_lossy).serialize(serializer)
}

/// Attempts of one hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ActiveHour))]
pub struct HourOfDeliveries {
    /// Start of the hour.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    pub hour: Timestamp,
    /// Number of successful attempts.
    pub succeeded: i64,
    /// Number of failed attempts.
    pub failed: i64,
}

impl HourOfDeliveries {
    /// Returns the last 24 hours including that of `now`, oldest first.
    pub fn last(now: Timestamp) -> impl Iterator<Item = Timestamp> {
        let present = now.unix_millis().div_euclid(HOUR);
        (present - HOURS + 1..=present).map(|hour| Timestamp::from_unix_millis(hour * HOUR))
    }

    /// Adds the hours without attempts to the last 24 hours.
    pub fn fill(counted: &[Self], now: Timestamp) -> Vec<Self> {
        let filled = Self::last(now).map(|hour| {
            let known = counted.iter().find(|known| known.hour == hour).copied();
            known.unwrap_or(Self { hour, succeeded: 0, failed: 0 })
        });
        filled.collect()
    }
}

/// The events to replay.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = ReplayBody))]
pub struct ReplayRange {
    /// Start of the time range, inclusive.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    from: Timestamp,
    /// End of the time range, exclusive. Default: now.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = "date-time"))]
    to: Option<Timestamp>,
}

impl ReplayRange {
    /// Returns start and end. Fails unless the start is before the end.
    pub fn bounds(self, now: Timestamp) -> Result<(Timestamp, Timestamp), Error> {
        let to = self.to.unwrap_or(now);
        if self.from < to { Ok((self.from, to)) } else { Err(Error::Range) }
    }
}

/// A replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = ShownReplay))]
pub struct ReplaySummary {
    /// Number of events that are delivered again: at most 1,000.
    pub replayed: usize,
    /// Where to continue, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    pub next_from: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn hours_without_attempts_are_filled() {
        let now = at("2026-01-02T09:30:00.000Z");
        let counted = [HourOfDeliveries { hour: at("2026-01-02T08:00:00.000Z"), succeeded: 2, failed: 1 }];
        let hours = HourOfDeliveries::fill(&counted, now);
        assert_eq!((hours.len(), hours[0].hour), (24, at("2026-01-01T10:00:00.000Z")));
        assert_eq!((hours[22], hours[23].succeeded), (counted[0], 0));
    }

    #[test]
    fn replay_ends_now_and_begins_before() {
        let now = at("2026-01-02T09:30:00.000Z");
        let range = |value| serde_json::from_value::<ReplayRange>(value).unwrap().bounds(now);
        let from = at("2026-01-01T00:00:00.000Z");
        assert_eq!(range(json!({ "from": from })).unwrap(), (from, now));
        assert!(matches!(range(json!({ "from": now })), Err(Error::Range)));
        assert!(matches!(range(json!({ "from": from, "to": from })), Err(Error::Range)));
    }

    #[test]
    fn attempt_without_response_has_no_members_of_one() {
        let attempt = Delivered {
            id: "dlv_1".into(),
            event_id: "evt_1".into(),
            event_type: "ACCOUNT_USER_CREATED".into(),
            attempt: 1,
            status: DeliveryStatus::Failed,
            waiting: false,
            is_final: true,
            http_status: None,
            error: Some("TLS".into()),
            duration_ms: None,
            response_body: Some(vec![b'a', 0xff]),
            attempted_at: None,
            next_attempt_at: None,
        };
        let shown = json!({
            "id": "dlv_1",
            "eventId": "evt_1",
            "eventType": "ACCOUNT_USER_CREATED",
            "attempt": 1,
            "status": "FAILED",
            "final": true,
            "error": "TLS",
            "responseBody": "a\u{fffd}",
        });
        assert_eq!(serde_json::to_value(attempt).unwrap(), shown);
    }
}
