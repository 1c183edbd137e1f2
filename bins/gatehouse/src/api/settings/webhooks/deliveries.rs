//! `/api/settings/webhooks/{id}/deliveries`, `…/replay`, `…/activity`: what was sent, and sending it again.

use ::webhooks::{Subscription, SubscriptionId, SubscriptionStore};
use actix_web::{HttpResponse, get, post, web};
use audit::{
    Audited, Event,
    events::webhooks::{WebhookDeliveryRetried, WebhookReplayed},
};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use store::{Delivered, DeliveryStatus, Tx};
use utoipa::ToSchema;

use super::id_of;
use crate::api::openapi::values;
use gate::{
    access::Access,
    body::{Json, answer},
    errors::{Code, Problem},
    permissions::Administer,
};

/// Attempts that are listed.
const LISTED: i64 = 100;
/// Hours that are counted.
const HOURS: i64 = 24;
const HOUR: i64 = 3_600_000;

/// One attempt to deliver an event. A retry is another.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookDelivery)]
struct ShownDelivery {
    /// `dlv_…`
    id: String,
    /// `evt_…`, the same in all attempts.
    event_id: String,
    event_type: String,
    /// Number of the attempt, from 1.
    attempt: i64,
    /// `PENDING`, `SUCCEEDED` or `FAILED`.
    #[schema(value_type = values::DeliveryStatus)]
    status: &'static str,
    /// Whether no other attempt follows by itself.
    r#final: bool,
    /// What the receiver answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    http_status: Option<i64>,
    /// Why it did not: `TIMEOUT`, `CONNECT`, `TLS`, `BLOCKED`, or `EVENT_DROPPED` where the event is not kept any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::DeliveryError>)]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    duration_ms: Option<i64>,
    /// The beginning of the answer: 4 KiB at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    response_body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    attempted_at: Option<Timestamp>,
    /// When it will be sent; of one that failed, when the next one will.
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

/// Attempts of a subscription.
#[derive(Serialize, ToSchema)]
struct DeliveryList {
    /// The 100 newest, the newest first.
    deliveries: Vec<ShownDelivery>,
}

/// What is sent by an attempt.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeliveryPayload {
    /// The body, as it is signed.
    payload: String,
}

/// What is to be told again.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReplayBody {
    /// The first moment.
    #[schema(value_type = String, format = "date-time")]
    from: Timestamp,
    /// The first moment that is not in it any more; now without it.
    #[schema(value_type = Option<String>, format = "date-time")]
    to: Option<Timestamp>,
}

/// What is told again.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ShownReplay {
    /// Events that are delivered again: 1,000 at most.
    replayed: usize,
    /// Where to go on, if there were more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    next_from: Option<Timestamp>,
}

/// Attempts within an hour.
#[derive(Serialize, ToSchema)]
struct ActiveHour {
    /// When it begins.
    #[schema(value_type = String, format = "date-time")]
    hour: Timestamp,
    succeeded: i64,
    failed: i64,
}

/// Attempts by the hour.
#[derive(Serialize, ToSchema)]
struct WebhookActivity {
    /// The last 24, the oldest first, those without attempts too.
    hours: Vec<ActiveHour>,
}

async fn found(tx: &mut Tx, id: &SubscriptionId) -> Result<Subscription, Problem> {
    tx.subscription(id).await?.ok_or_else(Problem::not_found)
}

/// List deliveries
///
/// The 100 newest attempts. Attempts are kept for 30 days.
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "Attempts, the newest first.", body = DeliveryList),
    )
)]
#[get("/api/settings/webhooks/{id}/deliveries")]
pub(crate) async fn list_webhook_deliveries(
    access: Access<Administer>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        found(tx, &id).await?;
        Ok::<_, Problem>(tx.deliveries(&id, LISTED).await?)
    };
    let deliveries = access.read(work).await?.into_iter().map(ShownDelivery::from).collect();
    Ok(answer(&DeliveryList { deliveries }))
}

/// Read what a delivery sends
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(
        ("deliveryId" = String, Path, description = "dlv_…"),
    ),
    responses(
        (status = 200, description = "Its body.", body = DeliveryPayload),
        (status = 404, description = "The tenant has no subscription, or this no attempt, of this id; or the event is not kept any more."),
    )
)]
#[get("/api/settings/webhooks/{id}/deliveries/{deliveryId}/payload")]
pub(crate) async fn get_webhook_payload(
    access: Access<Administer>,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    let (id, delivery) = path.into_inner();
    let id = id_of(&id)?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        found(tx, &id).await?;
        let body = tx.delivery_body(&id, &delivery).await?.ok_or_else(Problem::not_found)?;
        Ok::<_, Problem>(body)
    };
    let body = access.read(work).await?;
    Ok(answer(&DeliveryPayload { payload: String::from_utf8_lossy(&body).into_owned() }))
}

/// Send a delivery again
///
/// As soon as can be: the attempt that is to come is brought forward, or there is a new one. The event's id stays.
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(
        ("deliveryId" = String, Path, description = "dlv_…"),
    ),
    responses(
        (status = 200, description = "The attempt that is to come.", body = ShownDelivery),
        (status = 404, description = "The tenant has no subscription, or this no attempt, of this id."),
        (status = 409, description = "CONFLICT, reason DISABLED: the subscription is."),
    )
)]
#[post("/api/settings/webhooks/{id}/deliveries/{deliveryId}/retry")]
pub(crate) async fn retry_webhook_delivery(
    access: Access<Administer>,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    let (id, delivery) = path.into_inner();
    let id = id_of(&id)?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        enabled(&found(tx, &id).await?)?;
        let retried = tx.retry_delivery(ctx, &id, &delivery).await?.ok_or_else(Problem::not_found)?;
        let data = WebhookDeliveryRetried { delivery: retried.id.clone(), event: retried.event_id.clone() };
        Ok::<_, Problem>(Audited::new(retried, Event::new(id.as_str(), &data)))
    };
    Ok(answer(&ShownDelivery::from(access.write(work).await?)))
}

/// What is disabled sends nothing.
fn enabled(subscription: &Subscription) -> Result<(), Problem> {
    let conflict =
        || Problem::new(Code::Conflict, "the subscription is disabled; enable it first").reason("DISABLED");
    if subscription.enabled { Ok(()) } else { Err(conflict()) }
}

/// Tell a subscription again of the past
///
/// Of every event from then on, or until then, that its filters want today, whether it was delivered before or not. 1,000 at
/// most, the oldest first; `nextFrom` says where to go on. Event ids stay, so a receiver knows what it has seen.
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "How much is told again.", body = ShownReplay),
        (status = 400, description = "A time is malformed, or the end is not after the beginning."),
        (status = 409, description = "CONFLICT, reason DISABLED: the subscription is."),
    )
)]
#[post("/api/settings/webhooks/{id}/replay")]
pub(crate) async fn replay_webhook(
    access: Access<Administer>,
    id: web::Path<String>,
    body: Json<ReplayBody>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let ReplayBody { from, to } = body.0;
    let to = to.unwrap_or(access.ctx().now);
    if from >= to {
        return Err(Problem::invalid_request("from: it has to be before to, and before now".to_owned()));
    }
    let of = id.clone();
    let past = async move |_: &Ctx, tx: &mut Tx| {
        let subscription = found(tx, &of).await?;
        enabled(&subscription)?;
        Ok::<_, Problem>(tx.wanted_of_the_past(&subscription, (from, to)).await?)
    };
    let past = access.scan(past).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        enabled(&found(tx, &id).await?)?;
        let replayed = tx.replay_webhook(ctx, &id, past)?;
        let events = u64::try_from(replayed.count).unwrap_or(u64::MAX);
        let data = WebhookReplayed { from: from.to_string(), to: to.to_string(), events };
        let event = (events > 0).then(|| Event::new(id.as_str(), &data));
        Ok::<_, Problem>(Audited::of_changes(replayed, event.into_iter().collect()))
    };
    let replayed = access.write(work).await?;
    Ok(answer(&ShownReplay { replayed: replayed.count, next_from: replayed.next_from }))
}

/// Count deliveries
///
/// Attempts of the last 24 hours, by the hour.
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "Attempts by the hour.", body = WebhookActivity),
    )
)]
#[get("/api/settings/webhooks/{id}/activity")]
pub(crate) async fn get_webhook_activity(
    access: Access<Administer>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let present = access.ctx().now.unix_millis().div_euclid(HOUR);
    let at = |hour: i64| Timestamp::from_unix_millis(hour * HOUR);
    let from = at(present - HOURS + 1);
    let work = async move |_: &Ctx, tx: &mut Tx| {
        found(tx, &id).await?;
        Ok::<_, Problem>(tx.hours_of_deliveries(&id, from).await?)
    };
    let counted = access.scan(work).await?;
    let hours = (present - HOURS + 1..=present).map(at).map(|hour| {
        let known = counted.iter().find(|known| known.hour == hour);
        let (succeeded, failed) = known.map_or((0, 0), |known| (known.succeeded, known.failed));
        ActiveHour { hour, succeeded, failed }
    });
    Ok(answer(&WebhookActivity { hours: hours.collect() }))
}
