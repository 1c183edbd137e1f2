//! `/api/settings/webhooks`: who is told of events.

pub(crate) mod connection_test;
pub(crate) mod deliveries;
pub(crate) mod rotate_secret;

use ::webhooks::{
    EventFilter, New, SigningSecret, Subscription, SubscriptionChange, SubscriptionId, SubscriptionStore,
};
use actix_web::{HttpResponse, delete, get, patch, post, web};
use audit::{
    Audited, Event,
    events::webhooks::{WebhookCreated, WebhookDeleted, WebhookUpdated},
};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Site, me::factors::Deleted, openapi::values};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::Problem,
    permissions::Administer,
};

/// A URL that is told of events.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookSubscription)]
pub(crate) struct ShownSubscription {
    /// `whk_…`
    id: String,
    name: String,
    #[schema(format = "uri")]
    url: String,
    /// Globs over event types: `*` stands for any characters.
    event_filters: Vec<String>,
    /// Whether anything is sent. What there is to deliver waits while it is not.
    enabled: bool,
    /// Why not, where the service decided so: `GONE` (the receiver answered 410) or `FAILING` (nothing succeeded for five days).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::WebhookDisabledReason>)]
    disabled_reason: Option<&'static str>,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[schema(value_type = String, format = "date-time")]
    updated_at: Timestamp,
    /// Until when the secret before signs beside the new one, while that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    rotating_until: Option<Timestamp>,
    /// `whsec_…`, in the answer to its creation or rotation and nowhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    secret: Option<String>,
    /// What may not be meant: filters that match no type of event there is today.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl ShownSubscription {
    pub(crate) fn of(subscription: &Subscription, now: Timestamp, secret: Option<&SigningSecret>) -> Self {
        let types: Vec<&str> = audit::events::catalog().codes().collect();
        let warning =
            |filter: &EventFilter| format!("eventFilters: {filter} matches no type of event there is today");
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

/// The tenant's subscriptions.
#[derive(Serialize, ToSchema)]
struct WebhookList {
    /// The oldest first.
    subscriptions: Vec<ShownSubscription>,
}

/// What a subscription is to be.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WebhookBody {
    /// 1 to 100 printable characters.
    #[schema(value_type = values::TrimmedName)]
    name: String,
    /// https, of a public address.
    #[schema(format = "uri")]
    url: String,
    /// Up to 50 globs of up to 128 characters each; all events without any.
    #[serde(default)]
    #[schema(value_type = Vec<values::EventFilter>, max_items = 50)]
    event_filters: Vec<String>,
}

/// What is to be different.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WebhookChange {
    /// 1 to 100 printable characters.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, value_type = Option<values::TrimmedName>)]
    name: Option<String>,
    /// https, of a public address.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, format = "uri")]
    url: Option<String>,
    /// Up to 50 globs of up to 128 characters each; all events with none.
    #[serde(default, deserialize_with = "some")]
    #[schema(value_type = Option<Vec<values::EventFilter>>, nullable = false, max_items = 50)]
    event_filters: Option<Vec<String>>,
    /// Whether anything is sent.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

/// What may be left out, but is not null.
pub(crate) fn some<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// List subscriptions
///
/// Without their secrets, which are shown once.
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All of them.", body = WebhookList))
)]
#[get("/api/settings/webhooks")]
pub(crate) async fn list_webhooks(access: Access<Administer>) -> Result<HttpResponse, Problem> {
    let found = access.read(async |_: &Ctx, tx: &mut Tx| tx.subscriptions().await).await?;
    let now = access.ctx().now;
    let subscriptions = found.iter().map(|one| ShownSubscription::of(one, now, None)).collect();
    Ok(answer(&WebhookList { subscriptions }))
}

/// Add a subscription
///
/// Its secret is in this answer and nowhere else. 100 at most.
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The subscription, with its secret this once.", body = ShownSubscription),
        (status = 400, description = "A field is malformed, or the URL is not one that is delivered to."),
        (status = 409, description = "CONFLICT: there are 100."),
    )
)]
#[post("/api/settings/webhooks")]
pub(crate) async fn create_webhook(
    site: web::Data<Site>,
    access: Access<Administer>,
    body: Json<WebhookBody>,
) -> Result<HttpResponse, Problem> {
    let WebhookBody { name, url, event_filters } = body.0;
    let (guard, keys) = (site.webhooks.client.guard().clone(), site.pipeline.keys.webhooks());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let new = New { name, url, event_filters };
        let (made, secret) = webhooks::create(ctx, tx, (&guard, &keys), new).await?;
        let event_filters = made.event_filters.iter().map(ToString::to_string).collect();
        let event = Event::new(made.id.as_str(), &WebhookCreated { event_filters });
        Ok::<_, Problem>(Audited::new((made, secret), event))
    };
    let (made, secret) = access.write(work).await?;
    Ok(answer(&ShownSubscription::of(&made, access.ctx().now, Some(&secret))))
}

/// The id in a path.
pub(crate) fn id_of(id: &str) -> Result<SubscriptionId, Problem> {
    id.parse().map_err(|_| Problem::not_found())
}

/// Read a subscription
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The subscription.", body = ShownSubscription),
    )
)]
#[get("/api/settings/webhooks/{id}")]
pub(crate) async fn get_webhook(
    access: Access<Administer>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let found = access.read(async move |_: &Ctx, tx: &mut Tx| tx.subscription(&id).await).await?;
    let found = found.ok_or_else(Problem::not_found)?;
    Ok(answer(&ShownSubscription::of(&found, access.ctx().now, None)))
}

/// Change a subscription
///
/// In force at once; what is being sent is not called back. While it is disabled nothing new is delivered to it, and what was to
/// be delivered waits. Enabled again, it goes on.
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The subscription.", body = ShownSubscription),
        (status = 400, description = "A field is malformed, or the URL is not one that is delivered to."),
    )
)]
#[patch("/api/settings/webhooks/{id}")]
pub(crate) async fn change_webhook(
    site: web::Data<Site>,
    access: Access<Administer>,
    id: web::Path<String>,
    body: Json<WebhookChange>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let WebhookChange { name, url, event_filters, enabled } = body.0;
    let guard = site.webhooks.client.guard().clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let change = SubscriptionChange { name, url, event_filters, enabled };
        let (changed, names) = webhooks::change(ctx, tx, &guard, &id, change).await?;
        let data = WebhookUpdated { changed: names.into_iter().map(str::to_owned).collect() };
        let event = (!data.changed.is_empty()).then(|| Event::new(id.as_str(), &data));
        Ok::<_, Problem>(Audited::of_changes(changed, event.into_iter().collect()))
    };
    let changed = access.write(work).await?;
    Ok(answer(&ShownSubscription::of(&changed, access.ctx().now, None)))
}

/// Remove a subscription
///
/// With its deliveries, those to come too.
#[utoipa::path(
    tag = "Webhooks",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "It is gone.", body = Deleted),
    )
)]
#[delete("/api/settings/webhooks/{id}")]
pub(crate) async fn delete_webhook(
    access: Access<Administer>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        webhooks::remove(tx, &id).await?;
        Ok::<_, Problem>(Audited::new((), Event::new(id.as_str(), &WebhookDeleted {})))
    };
    access.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
