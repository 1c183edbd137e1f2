//! `/api/settings/webhooks`: webhook endpoints.

pub(crate) mod connection_test;
pub(crate) mod deliveries;
pub(crate) mod rotate_secret;

use ::webhooks::{EventFilter, New, SigningSecret, Subscription, SubscriptionChange, SubscriptionStore};
use actix_web::{delete, get, patch, post};
use audit::{
    Audited, Event,
    events::webhooks::{WebhookCreated, WebhookDeleted, WebhookUpdated},
};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, me::factors::Deleted, openapi::values};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::Administer,
};

/// A webhook.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookSubscription)]
pub(crate) struct ShownSubscription {
    /// `whk_…`
    id: String,
    name: String,
    #[schema(format = "uri")]
    url: String,
    /// Patterns of event types; `*` matches any characters.
    event_filters: Vec<String>,
    /// Whether events are delivered. Pending deliveries wait while it is disabled.
    enabled: bool,
    /// Why the server disabled it: `GONE` (the receiver answered 410) or `FAILING` (no success for five days).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::WebhookDisabledReason>)]
    disabled_reason: Option<&'static str>,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[schema(value_type = String, format = "date-time")]
    updated_at: Timestamp,
    /// End of the overlap in which the previous secret also signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    rotating_until: Option<Timestamp>,
    /// `whsec_…`. Only in the response to its creation or rotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    secret: Option<String>,
    /// Filters that match no existing event type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl ShownSubscription {
    pub(crate) fn of(subscription: &Subscription, now: Timestamp, secret: Option<&SigningSecret>) -> Self {
        let types: Vec<&str> = audit::events::catalog().codes().collect();
        let warning = |filter: &EventFilter| format!("eventFilters: {filter} matches no existing event type");
        Self {
            id: subscription.id.to_string(),
            name: subscription.name.clone(),
            url: subscription.url.clone(),
            event_filters: subscription.event_filters.iter().map(ToString::to_string).collect(),
            enabled: subscription.enabled,
            disabled_reason: subscription.disabled_reason.map(webhooks::DisabledReason::as_str),
            created_at: subscription.created_at,
            updated_at: subscription.updated_at,
            rotating_until: subscription.secrets.overlapping(now).map(|previous| previous.until),
            secret: secret.map(|secret| secret.text().to_owned()),
            warnings: subscription.idle_filters(&types).map(warning).collect(),
        }
    }
}

/// The webhooks of the tenant.
#[derive(Serialize, ToSchema)]
struct WebhookList {
    /// Oldest first.
    subscriptions: Vec<ShownSubscription>,
}

/// The webhook to add.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WebhookBody {
    /// 1 to 100 printable characters.
    #[schema(value_type = values::TrimmedName)]
    name: String,
    /// `https` URL at a public address.
    #[schema(format = "uri")]
    url: String,
    /// Up to 50 patterns of event types, each up to 128 characters. Default: all events.
    #[serde(default)]
    #[schema(value_type = Vec<values::EventFilter>, max_items = 50)]
    event_filters: Vec<String>,
}

/// Changes of a webhook.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WebhookChange {
    /// 1 to 100 printable characters.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, value_type = Option<values::TrimmedName>)]
    name: Option<String>,
    /// `https` URL at a public address.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, format = "uri")]
    url: Option<String>,
    /// Up to 50 patterns of event types, each up to 128 characters. Empty: all events.
    #[serde(default, deserialize_with = "some")]
    #[schema(value_type = Option<Vec<values::EventFilter>>, nullable = false, max_items = 50)]
    event_filters: Option<Vec<String>>,
    /// Whether events are delivered.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

/// Deserializes a member that may be absent but not null.
pub(crate) fn some<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// List webhooks
///
/// Without signing secrets.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All SSO connections of the tenant.", body = WebhookList))
)]
#[get("/api/settings/webhooks")]
pub(crate) async fn list_webhooks(call: Call<Administer>) -> Answer {
    let found = call.read(async |_: &Ctx, tx: &mut Tx| tx.subscriptions().await).await?;
    let now = call.ctx().now;
    let subscriptions = found.iter().map(|one| ShownSubscription::of(one, now, None)).collect();
    Ok(answer(&WebhookList { subscriptions }))
}

/// Add a webhook
///
/// The response contains the signing secret; it is not shown again. A tenant has at most 100 webhooks.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The webhook, with its signing secret, shown once.", body = ShownSubscription),
        (status = 400, description = "A field is malformed, or the URL is not allowed."),
        (status = 409, description = "CONFLICT: the tenant has 100 webhooks."),
    )
)]
#[post("/api/settings/webhooks")]
pub(crate) async fn create_webhook(call: Call<Administer>, body: Json<WebhookBody>) -> Answer {
    let WebhookBody { name, url, event_filters } = body.0;
    let (guard, keys) = (call.site.webhooks.client.guard().clone(), call.site.pipeline.keys.webhooks());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let new = New { name, url, event_filters };
        let (made, secret) = webhooks::create(ctx, tx, (&guard, &keys), new).await?;
        let event_filters = made.event_filters.iter().map(ToString::to_string).collect();
        let event = Event::new(made.id.as_str(), &WebhookCreated { event_filters });
        Ok::<_, Problem>(Audited::new((made, secret), event))
    };
    let (made, secret) = call.write(work).await?;
    Ok(answer(&ShownSubscription::of(&made, call.ctx().now, Some(&secret))))
}

/// Get a webhook
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The webhook.", body = ShownSubscription))
)]
#[get("/api/settings/webhooks/{id}")]
pub(crate) async fn get_webhook(call: Call<Administer>) -> Answer {
    let id = call.id()?;
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| tx.subscription(&id).await).await?;
    let found = found.ok_or_else(Problem::not_found)?;
    Ok(answer(&ShownSubscription::of(&found, call.ctx().now, None)))
}

/// Update a webhook
///
/// Takes effect immediately; attempts in flight are not cancelled. Events that occur while the webhook is disabled
/// are not delivered to it. Pending deliveries wait and continue once it is enabled.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The webhook.", body = ShownSubscription),
        (status = 400, description = "A field is malformed, or the URL is not allowed."),
    )
)]
#[patch("/api/settings/webhooks/{id}")]
pub(crate) async fn change_webhook(call: Call<Administer>, body: Json<WebhookChange>) -> Answer {
    let id = call.id()?;
    let WebhookChange { name, url, event_filters, enabled } = body.0;
    let guard = call.site.webhooks.client.guard().clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let change = SubscriptionChange { name, url, event_filters, enabled };
        let (changed, names) = webhooks::change(ctx, tx, &guard, &id, change).await?;
        let data = WebhookUpdated { changed: names.into_iter().map(str::to_owned).collect() };
        let event = (!data.changed.is_empty()).then(|| Event::new(id.as_str(), &data));
        Ok::<_, Problem>(Audited::of_changes(changed, event.into_iter().collect()))
    };
    let changed = call.write(work).await?;
    Ok(answer(&ShownSubscription::of(&changed, call.ctx().now, None)))
}

/// Remove a webhook
///
/// Also removes its deliveries, including pending ones.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Deleted.", body = Deleted))
)]
#[delete("/api/settings/webhooks/{id}")]
pub(crate) async fn delete_webhook(call: Call<Administer>) -> Answer {
    let id = call.id()?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        webhooks::remove(tx, &id).await?;
        Ok::<_, Problem>(Audited::new((), Event::new(id.as_str(), &WebhookDeleted {})))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
