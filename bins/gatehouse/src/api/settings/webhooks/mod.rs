//! `/api/settings/webhooks`: webhook endpoints.

pub(crate) mod connection_test;
pub(crate) mod deliveries;
pub(crate) mod rotate_secret;

pub(crate) use kernel::not_null as some;

use ::webhooks::{
    New, PublicKey, SecretKeys, SigningSecret, Subscription, SubscriptionChange, SubscriptionStore,
    SubscriptionView,
};
use actix_web::{HttpResponse, delete, get, patch, post};
use audit::{
    Audited, Event,
    events::webhooks::{WebhookCreated, WebhookDeleted, WebhookUpdated},
};
use kernel::{Ctx, TenantId, Timestamp};
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, me::factors::Deleted};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{ManageWebhooks, Permission},
};

/// Responds with a webhook, and with its signing secret if it was just generated.
fn respond<P: Permission>(
    call: &Call<P>,
    subscription: &Subscription,
    secret: Option<&SigningSecret>,
) -> HttpResponse {
    answer(&view(call, subscription, secret))
}

/// Returns a webhook as the API shows it, with its signing secret if it was just generated.
pub(crate) fn view<P: Permission>(
    call: &Call<P>,
    subscription: &Subscription,
    secret: Option<&SigningSecret>,
) -> SubscriptionView {
    let types: Vec<&str> = audit::events::catalog().codes().collect();
    let (ctx, keys) = (call.ctx(), call.site.pipeline.keys.webhooks());
    let public = public_keys(&keys, &ctx.tenant, subscription, ctx.now);
    SubscriptionView::new(subscription, &types, ctx.now, &public, secret)
}

/// Returns the keys that verify the asymmetric signatures of a webhook, newest first; none if a master key is missing.
/// Deliveries stop in that case, and the worker reports it.
pub(crate) fn public_keys(
    keys: &SecretKeys,
    tenant: &TenantId,
    subscription: &Subscription,
    now: Timestamp,
) -> Vec<PublicKey> {
    let signers = keys.signers((tenant, &subscription.id), &subscription.secrets, now);
    signers.map(|signers| signers.public_keys()).unwrap_or_default()
}

/// The webhooks of the tenant.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookList {
    /// Oldest first.
    subscriptions: Vec<SubscriptionView>,
}

/// List webhooks
///
/// Without signing secrets.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All webhooks of the tenant.", body = WebhookList))
)]
#[get("/api/settings/webhooks")]
pub(crate) async fn list_webhooks(call: Call<ManageWebhooks>) -> Answer {
    Ok(answer(&webhook_list(&call).await?))
}

/// Returns the webhooks of the tenant.
pub(crate) async fn webhook_list<P: Permission>(call: &Call<P>) -> Result<WebhookList, Problem> {
    let found = call.read(async |_: &Ctx, tx: &mut Tx| tx.subscriptions().await).await?;
    Ok(WebhookList { subscriptions: found.iter().map(|one| view(call, one, None)).collect() })
}

/// Add a webhook
///
/// The response contains the signing secret; it is not shown again. A tenant has at most 100 webhooks.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The webhook, with its signing secret, shown once.", body = SubscriptionView),
        (status = 400, description = "A field is malformed, or the URL is not allowed."),
        (status = 409, description = "CONFLICT: the tenant has 100 webhooks."),
    )
)]
#[post("/api/settings/webhooks")]
pub(crate) async fn create_webhook(call: Call<ManageWebhooks>, body: Json<New>) -> Answer {
    let (guard, keys) = (call.site.webhooks.client.guard().clone(), call.site.pipeline.keys.webhooks());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (made, secret) = webhooks::create(ctx, tx, (&guard, &keys), body.0).await?;
        let event_filters = made.event_filters.iter().map(ToString::to_string).collect();
        let event = Event::new(made.id.as_str(), &WebhookCreated { event_filters });
        Ok::<_, Problem>(Audited::new((made, secret), event))
    };
    let (made, secret) = call.write(work).await?;
    Ok(respond(&call, &made, Some(&secret)))
}

/// Get a webhook
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The webhook.", body = SubscriptionView))
)]
#[get("/api/settings/webhooks/{id}")]
pub(crate) async fn get_webhook(call: Call<ManageWebhooks>) -> Answer {
    let id = call.id()?;
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| webhooks::find(tx, &id).await).await?;
    Ok(respond(&call, &found, None))
}

/// Update a webhook
///
/// Takes effect immediately; attempts in flight are not cancelled. Events that occur while the webhook is disabled
/// are not delivered to it. Pending deliveries wait and continue once it is enabled.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The webhook.", body = SubscriptionView),
        (status = 400, description = "A field is malformed, or the URL is not allowed."),
    )
)]
#[patch("/api/settings/webhooks/{id}")]
pub(crate) async fn change_webhook(call: Call<ManageWebhooks>, body: Json<SubscriptionChange>) -> Answer {
    let id = call.id()?;
    let guard = call.site.webhooks.client.guard().clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (changed, names) = webhooks::change(ctx, tx, &guard, &id, body.0).await?;
        let data = WebhookUpdated { changed: names.into_iter().map(str::to_owned).collect() };
        let event = (!data.changed.is_empty()).then(|| Event::new(id.as_str(), &data));
        Ok::<_, Problem>(Audited::of_changes(changed, event.into_iter().collect()))
    };
    let changed = call.write(work).await?;
    Ok(respond(&call, &changed, None))
}

/// Remove a webhook
///
/// Also removes its deliveries, including pending ones.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Deleted.", body = Deleted))
)]
#[delete("/api/settings/webhooks/{id}")]
pub(crate) async fn delete_webhook(call: Call<ManageWebhooks>) -> Answer {
    let id = call.id()?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        webhooks::remove(tx, &id).await?;
        Ok::<_, Problem>(Audited::new((), Event::new(id.as_str(), &WebhookDeleted {})))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
