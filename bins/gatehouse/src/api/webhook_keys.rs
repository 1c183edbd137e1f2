//! `GET /.well-known/webhooks/{tenantId}/{webhookId}`

use ::webhooks::{Jwk, SubscriptionId, SubscriptionStore as _};
use actix_web::{HttpResponse, get, http::header, web};
use kernel::TenantId;
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Registry, Site, generated_id, settings::webhooks::public_keys};
use gate::{access::Visitor, errors::Problem};

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry.service(webhook_keys);
}

/// Returns the URL of the public keys of a webhook.
pub(crate) fn key_set_url(base_url: &str, tenant: &TenantId, webhook: &str) -> String {
    format!("{base_url}/.well-known/webhooks/{tenant}/{webhook}")
}

/// The public keys of a webhook as a JSON Web Key set (RFC 7517).
#[derive(Serialize, ToSchema)]
struct WebhookKeySet {
    /// Newest first. Two during a rotation, none if the server lacks the master key.
    keys: Vec<Jwk>,
}

/// Get the public keys of a webhook
///
/// They verify the `v1a` signatures in `webhook-signature`. During a rotation there are two. Receivers may cache the
/// response for five minutes.
#[utoipa::path(
    security(()),
    params(
        ("tenantId" = String, Path, description = "ten_…, as in deliveries."),
        ("webhookId" = String, Path, description = "whk_…"),
    ),
    responses(
        (status = 200, description = "The key set.", body = WebhookKeySet),
        (status = 404, description = "Unknown tenant or webhook."),
        (status = 429, description = "The client address exceeded its rate; retry after the time in Retry-After."),
    )
)]
#[get("/.well-known/webhooks/{tenantId}/{webhookId}")]
pub(crate) async fn webhook_keys(
    site: web::Data<Site>,
    visitor: Visitor,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    let (tenant, id) = path.into_inner();
    let tenant: TenantId = generated_id(&tenant)?;
    let id: SubscriptionId = id.parse().map_err(|_| Problem::not_found())?;
    site.saml.admit(&visitor.origin())?;
    let find = async move |tx: &mut Tx| Ok::<_, Problem>(tx.subscription(&id).await?);
    let webhook = visitor.read(&tenant, find).await?.ok_or_else(Problem::not_found)?;
    let now = visitor.env().now();
    let keys = public_keys(&site.pipeline.keys.webhooks(), &tenant, &webhook, now);
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "max-age=300"))
        .json(WebhookKeySet { keys: keys.iter().map(::webhooks::PublicKey::jwk).collect() }))
}
