//! The configuration of a transmitter, and its key set.

use actix_web::{HttpResponse, get, http::header, web};
use kernel::TenantId;
use serde::Serialize;
use signals::{Jwk, KeyStore, Transmitter};
use store::Tx;
use utoipa::ToSchema;

use super::issuer::issuer;
use crate::api::{Site, generated_id};
use gate::{access::Visitor, errors::Problem};

/// The key set of a transmitter (RFC 7517).
#[derive(Serialize, ToSchema)]
struct SignalKeySet {
    /// Newest first. Empty if the tenant has no receiver yet.
    keys: Vec<Jwk>,
}

/// Get the configuration of a transmitter
///
/// The endpoints of the transmitter of shared signals (OpenID Shared Signals Framework 1.0, section 7). Every tenant is a
/// transmitter with an issuer of its own.
#[utoipa::path(
    security(()),
    params(("tenantId" = String, Path, description = "ten_…")),
    responses(
        (status = 200, description = "The configuration.", body = Transmitter),
        (status = 404, description = "Malformed tenant."),
        (status = 429, description = "The client address exceeded its rate; retry after the time in Retry-After."),
    )
)]
#[get("/.well-known/ssf-configuration/api/ssf/{tenantId}")]
pub(crate) async fn ssf_configuration(
    site: web::Data<Site>,
    visitor: Visitor,
    tenant: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let tenant: TenantId = generated_id(&tenant)?;
    site.saml.admit(&visitor.origin())?;
    let base_url = &site.pipeline.base_url;
    let transmitter = Transmitter::new(&issuer(base_url, &tenant), &format!("{base_url}/api/ssf"));
    Ok(HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "max-age=300")).json(transmitter))
}

/// Get the keys of a transmitter
///
/// They verify the signatures of security event tokens. Receivers may cache the response for five minutes, and read it again when
/// they see an unknown key.
#[utoipa::path(
    security(()),
    params(("tenantId" = String, Path, description = "ten_…")),
    responses(
        (status = 200, description = "The key set.", body = SignalKeySet),
        (status = 404, description = "Malformed tenant."),
        (status = 429, description = "The client address exceeded its rate; retry after the time in Retry-After."),
    )
)]
#[get("/api/ssf/{tenantId}/jwks")]
pub(crate) async fn ssf_jwks(
    site: web::Data<Site>,
    visitor: Visitor,
    tenant: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let tenant: TenantId = generated_id(&tenant)?;
    site.saml.admit(&visitor.origin())?;
    let find = async |tx: &mut Tx| Ok::<_, Problem>(tx.signing_keys().await?);
    let (found, now) = (visitor.read(&tenant, find).await?, visitor.env().now());
    let keys = found.into_iter().filter(|key| key.is_published(now)).map(|key| key.jwk).collect();
    Ok(HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "max-age=300")).json(SignalKeySet { keys }))
}
