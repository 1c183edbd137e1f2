//! `/api/settings/webhooks/{id}/deliveries`, `…/replay`, `…/activity`: past deliveries, and replaying them.

use ::webhooks::{Subscription, SubscriptionId, SubscriptionStore};
use actix_web::{get, post, web};
use audit::{
    Audited, Event,
    events::webhooks::{WebhookDeliveryRetried, WebhookReplayed},
};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use store::{Delivered, DeliveryStatus, Tx};
use utoipa::ToSchema;

use crate::api::{Answer, Call, openapi::values};
use gate::{
    body::{Json, answer},
    errors::{Code, Problem},
    permissions::Administer,
};

/// Maximum listed attempts.
const LISTED: i64 = 100;
/// Hours covered by the activity counts.
const HOURS: i64 = 24;
const HOUR: i64 = 3_600_000;

/// An attempt to deliver an event. Each retry is a separate attempt.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookDelivery)]
struct ShownDelivery {
    /// `dlv_…`
    id: String,
    /// `evt_…`. The same for all attempts.
    event_id: String,
    event_type: String,
    /// Number of the attempt, from 1.
    attempt: i64,
    /// `PENDING`, `SUCCEEDED` or `FAILED`.
    #[schema(value_type = values::DeliveryStatus)]
    status: &'static str,
    /// Whether no automatic attempt follows.
    r#final: bool,
    /// Status of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    http_status: Option<i64>,
    /// Why there was no response: `TIMEOUT`, `CONNECT`, `TLS`, `BLOCKED`, or `EVENT_DROPPED` if the event was purged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::DeliveryError>)]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    duration_ms: Option<i64>,
    /// First 4 KiB of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    response_body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    attempted_at: Option<Timestamp>,
    /// When it will be sent; for a failed attempt, when the next one will be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    next_attempt_at: Option<Timestamp>,
}

impl From<Delivered> for ShownDelivery {
    fn from(delivered: Delivered) -> Self {
        Self {
            id: delivered.id,
            event_id: delivered.event_id,
            event_type: delivered.event_type,
            attempt: delivered.attempt,
            status: match delivered.status {
                DeliveryStatus::Pending => "PENDING",
                DeliveryStatus::Succeeded => "SUCCEEDED",
                DeliveryStatus::Failed => "FAILED",
            },
            r#final: delivered.is_final,
            http_status: delivered.http_status,
            error: delivered.error,
            duration_ms: delivered.duration_ms,
            response_body: delivered.response_body.map(|body| String::from_utf8_lossy(&body).into_owned()),
            attempted_at: delivered.attempted_at,
            next_attempt_at: delivered.next_attempt_at,
        }
    }
}

/// Delivery attempts of a webhook.
#[derive(Serialize, ToSchema)]
struct DeliveryList {
    /// The 100 newest, newest first.
    deliveries: Vec<ShownDelivery>,
}

/// The payload of an attempt.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeliveryPayload {
    /// The body as signed.
    payload: String,
}

/// The events to replay.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReplayBody {
    /// Start of the time range, inclusive.
    #[schema(value_type = String, format = "date-time")]
    from: Timestamp,
    /// End of the time range, exclusive. Default: now.
    #[schema(value_type = Option<String>, format = "date-time")]
    to: Option<Timestamp>,
}

/// A replay.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ShownReplay {
    /// Number of events that are delivered again: at most 1,000.
    replayed: usize,
    /// Where to continue, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    next_from: Option<Timestamp>,
}

/// Attempts of one hour.
#[derive(Serialize, ToSchema)]
struct ActiveHour {
    /// Start of the hour.
    #[schema(value_type = String, format = "date-time")]
    hour: Timestamp,
    succeeded: i64,
    failed: i64,
}

/// Attempts per hour.
#[derive(Serialize, ToSchema)]
struct WebhookActivity {
    /// The last 24 hours, oldest first, including hours without attempts.
    hours: Vec<ActiveHour>,
}

async fn found(tx: &mut Tx, id: &SubscriptionId) -> Result<Subscription, Problem> {
    tx.subscription(id).await?.ok_or_else(Problem::not_found)
}

/// List delivery attempts
///
/// The 100 newest attempts. Attempts are kept for 30 days.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Attempts, newest first.", body = DeliveryList))
)]
#[get("/api/settings/webhooks/{id}/deliveries")]
pub(crate) async fn list_webhook_deliveries(call: Call<Administer>) -> Answer {
    let id: SubscriptionId = call.id()?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        found(tx, &id).await?;
        Ok::<_, Problem>(tx.deliveries(&id, LISTED).await?)
    };
    let deliveries = call.read(work).await?.into_iter().map(ShownDelivery::from).collect();
    Ok(answer(&DeliveryList { deliveries }))
}

/// Get the payload of a delivery
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(
        ("deliveryId" = String, Path, description = "dlv_…"),
    ),
    responses(
        (status = 200, description = "The body.", body = DeliveryPayload),
        (status = 404, description = "Unknown webhook or attempt, or the event was purged."),
    )
)]
#[get("/api/settings/webhooks/{id}/deliveries/{deliveryId}/payload")]
pub(crate) async fn get_webhook_payload(call: Call<Administer>, path: web::Path<(String, String)>) -> Answer {
    let (id, delivery) = path.into_inner();
    let id: SubscriptionId = id.parse().map_err(|_| Problem::not_found())?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        found(tx, &id).await?;
        let body = tx.delivery_body(&id, &delivery).await?.ok_or_else(Problem::not_found)?;
        Ok::<_, Problem>(body)
    };
    let body = call.read(work).await?;
    Ok(answer(&DeliveryPayload { payload: String::from_utf8_lossy(&body).into_owned() }))
}

/// Retry a delivery
///
/// Sends the event as soon as possible: brings the scheduled attempt forward, or adds a new one. The event ID stays
/// the same.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(
        ("deliveryId" = String, Path, description = "dlv_…"),
    ),
    responses(
        (status = 200, description = "The scheduled attempt.", body = ShownDelivery),
        (status = 404, description = "Unknown webhook or attempt."),
        (status = 409, description = "CONFLICT with reason DISABLED: the webhook is disabled."),
    )
)]
#[post("/api/settings/webhooks/{id}/deliveries/{deliveryId}/retry")]
pub(crate) async fn retry_webhook_delivery(
    call: Call<Administer>,
    path: web::Path<(String, String)>,
) -> Answer {
    let (id, delivery) = path.into_inner();
    let id: SubscriptionId = id.parse().map_err(|_| Problem::not_found())?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        enabled(&found(tx, &id).await?)?;
        let retried = tx.retry_delivery(ctx, &id, &delivery).await?.ok_or_else(Problem::not_found)?;
        let data = WebhookDeliveryRetried { delivery: retried.id.clone(), event: retried.event_id.clone() };
        Ok::<_, Problem>(Audited::new(retried, Event::new(id.as_str(), &data)))
    };
    Ok(answer(&ShownDelivery::from(call.write(work).await?)))
}

/// Fails with 409 if the webhook is disabled.
fn enabled(subscription: &Subscription) -> Result<(), Problem> {
    let conflict =
        || Problem::new(Code::Conflict, "the webhook is disabled; enable it first").reason("DISABLED");
    if subscription.enabled { Ok(()) } else { Err(conflict()) }
}

/// Replay events
///
/// Delivers all events of a time range that match the current filters again, whether they were delivered before or
/// not. At most 1,000 per request, oldest first; `nextFrom` is where to continue. Event IDs stay the same, so a
/// receiver can recognize duplicates.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "Number of events to be delivered again.", body = ShownReplay),
        (status = 400, description = "A time is malformed, or the end is not after the beginning."),
        (status = 409, description = "CONFLICT with reason DISABLED: the webhook is disabled."),
    )
)]
#[post("/api/settings/webhooks/{id}/replay")]
pub(crate) async fn replay_webhook(call: Call<Administer>, body: Json<ReplayBody>) -> Answer {
    let id: SubscriptionId = call.id()?;
    let ReplayBody { from, to } = body.0;
    let to = to.unwrap_or(call.ctx().now);
    if from >= to {
        return Err(Problem::invalid_request("from: must be before to and in the past".to_owned()));
    }
    let of = id.clone();
    let past = async move |_: &Ctx, tx: &mut Tx| {
        let subscription = found(tx, &of).await?;
        enabled(&subscription)?;
        Ok::<_, Problem>(tx.past_events(&subscription, (from, to)).await?)
    };
    let past = call.scan(past).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        enabled(&found(tx, &id).await?)?;
        let replayed = tx.replay_webhook(ctx, &id, past)?;
        let events = u64::try_from(replayed.count).unwrap_or(u64::MAX);
        let data = WebhookReplayed { from: from.to_string(), to: to.to_string(), events };
        let event = (events > 0).then(|| Event::new(id.as_str(), &data));
        Ok::<_, Problem>(Audited::of_changes(replayed, event.into_iter().collect()))
    };
    let replayed = call.write(work).await?;
    Ok(answer(&ShownReplay { replayed: replayed.count, next_from: replayed.next_from }))
}

/// Count delivery attempts per hour
///
/// Attempts of the last 24 hours.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Attempts per hour.", body = WebhookActivity))
)]
#[get("/api/settings/webhooks/{id}/activity")]
pub(crate) async fn get_webhook_activity(call: Call<Administer>) -> Answer {
    let id: SubscriptionId = call.id()?;
    let present = call.ctx().now.unix_millis().div_euclid(HOUR);
    let at = |hour: i64| Timestamp::from_unix_millis(hour * HOUR);
    let from = at(present - HOURS + 1);
    let work = async move |_: &Ctx, tx: &mut Tx| {
        found(tx, &id).await?;
        Ok::<_, Problem>(tx.hours_of_deliveries(&id, from).await?)
    };
    let counted = call.scan(work).await?;
    let hours = (present - HOURS + 1..=present).map(at).map(|hour| {
        let known = counted.iter().find(|known| known.hour == hour);
        let (succeeded, failed) = known.map_or((0, 0), |known| (known.succeeded, known.failed));
        ActiveHour { hour, succeeded, failed }
    });
    Ok(answer(&WebhookActivity { hours: hours.collect() }))
}
