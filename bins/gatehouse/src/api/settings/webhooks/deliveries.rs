//! `/api/settings/webhooks/{id}/deliveries`, `…/replay`, `…/activity`: past deliveries, and replaying them.

use ::webhooks::{Delivered, HourOfDeliveries, ReplayRange, ReplaySummary, SubscriptionId};
use actix_web::{get, post, web};
use audit::{
    Audited, Event,
    events::webhooks::{WebhookDeliveryRetried, WebhookReplayed},
};
use kernel::Ctx;
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::ManageWebhooks,
};

/// Maximum listed attempts.
const LISTED: i64 = 100;

/// Delivery attempts of a webhook.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeliveryList {
    /// The 100 newest, newest first.
    deliveries: Vec<Delivered>,
}

/// The payload of an attempt.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeliveryPayload {
    /// The body as signed.
    payload: String,
}

/// Attempts per hour.
#[derive(Serialize, ToSchema)]
struct WebhookActivity {
    /// The last 24 hours, oldest first, including hours without attempts.
    hours: Vec<HourOfDeliveries>,
}

/// List delivery attempts
///
/// The 100 newest attempts. Attempts are kept for 30 days.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Attempts, newest first.", body = DeliveryList))
)]
#[get("/api/settings/webhooks/{id}/deliveries")]
pub(crate) async fn list_webhook_deliveries(call: Call<ManageWebhooks>) -> Answer {
    let id: SubscriptionId = call.id()?;
    Ok(answer(&call.read(async move |_: &Ctx, tx: &mut Tx| delivery_list(tx, &id).await).await?))
}

/// Returns the newest attempts of a webhook.
pub(crate) async fn delivery_list(tx: &mut Tx, id: &SubscriptionId) -> Result<DeliveryList, Problem> {
    webhooks::find(tx, id).await?;
    Ok(DeliveryList { deliveries: tx.deliveries(id, LISTED).await? })
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
pub(crate) async fn get_webhook_payload(
    call: Call<ManageWebhooks>,
    path: web::Path<(String, String)>,
) -> Answer {
    let (id, delivery) = path.into_inner();
    let id: SubscriptionId = id.parse().map_err(|_| Problem::not_found())?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        webhooks::find(tx, &id).await?;
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
        (status = 200, description = "The scheduled attempt.", body = Delivered),
        (status = 404, description = "Unknown webhook or attempt."),
        (status = 409, description = "CONFLICT with reason DISABLED: the webhook is disabled."),
    )
)]
#[post("/api/settings/webhooks/{id}/deliveries/{deliveryId}/retry")]
pub(crate) async fn retry_webhook_delivery(
    call: Call<ManageWebhooks>,
    path: web::Path<(String, String)>,
) -> Answer {
    let (id, delivery) = path.into_inner();
    let id: SubscriptionId = id.parse().map_err(|_| Problem::not_found())?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        webhooks::find(tx, &id).await?.require_enabled()?;
        let retried = tx.retry_delivery(ctx, &id, &delivery).await?.ok_or_else(Problem::not_found)?;
        let data = WebhookDeliveryRetried { delivery: retried.id.clone(), event: retried.event_id.clone() };
        Ok::<_, Problem>(Audited::new(retried, Event::new(id.as_str(), &data)))
    };
    Ok(answer(&call.write(work).await?))
}

/// Replay events
///
/// Delivers all events of a time range that match the current filters again, whether they were delivered before or
/// not. At most 1,000 per request, oldest first; `nextFrom` is where to continue. Event IDs stay the same, so a
/// receiver can recognize duplicates.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "Number of events to be delivered again.", body = ReplaySummary),
        (status = 400, description = "A time is malformed, or the end is not after the beginning."),
        (status = 409, description = "CONFLICT with reason DISABLED: the webhook is disabled."),
    )
)]
#[post("/api/settings/webhooks/{id}/replay")]
pub(crate) async fn replay_webhook(call: Call<ManageWebhooks>, body: Json<ReplayRange>) -> Answer {
    let id: SubscriptionId = call.id()?;
    let (from, to) = body.0.bounds(call.ctx().now)?;
    let of = id.clone();
    let past = async move |_: &Ctx, tx: &mut Tx| {
        let subscription = webhooks::find(tx, &of).await?;
        subscription.require_enabled()?;
        Ok::<_, Problem>(tx.past_events(&subscription, (from, to)).await?)
    };
    let past = call.scan(past).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        webhooks::find(tx, &id).await?.require_enabled()?;
        let replayed = tx.replay_webhook(ctx, &id, past)?;
        let events = u64::try_from(replayed.replayed).unwrap_or(u64::MAX);
        let data = WebhookReplayed { from: from.to_string(), to: to.to_string(), events };
        let event = (events > 0).then(|| Event::new(id.as_str(), &data));
        Ok::<_, Problem>(Audited::of_changes(replayed, event.into_iter().collect()))
    };
    Ok(answer(&call.write(work).await?))
}

/// Count delivery attempts per hour
///
/// Attempts of the last 24 hours.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Attempts per hour.", body = WebhookActivity))
)]
#[get("/api/settings/webhooks/{id}/activity")]
pub(crate) async fn get_webhook_activity(call: Call<ManageWebhooks>) -> Answer {
    let id: SubscriptionId = call.id()?;
    let now = call.ctx().now;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        webhooks::find(tx, &id).await?;
        let from = HourOfDeliveries::last(now).next().unwrap_or(now);
        Ok::<_, Problem>(tx.hours_of_deliveries(&id, from).await?)
    };
    let counted = call.scan(work).await?;
    Ok(answer(&WebhookActivity { hours: HourOfDeliveries::fill(&counted, now) }))
}
