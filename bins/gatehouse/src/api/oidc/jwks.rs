//! `GET /api/oidc/{providerId}/jwks`

use actix_web::{HttpResponse, get, http::header, web};
use utoipa::ToSchema;

use super::provider::provider_of;
use crate::api::Site;
use gate::{access::Visitor, errors::Problem};

/// A JSON Web Key set (RFC 7517).
#[derive(ToSchema)]
#[schema(as = JsonWebKeySet)]
#[expect(dead_code, reason = "for the description alone")]
struct KeySetView {
    /// Public RSA keys, for RS256. During a rotation there are two.
    keys: Vec<serde_json::Value>,
}

/// Get the keys for private_key_jwt
///
/// Public keys of client assertions, for the OpenID provider to fetch. During a rotation there are two.
#[utoipa::path(
    security(()),
    responses((status = 200, description = "The key set.", body = KeySetView))
)]
#[get("/api/oidc/{providerId}/jwks")]
pub(crate) async fn oidc_jwks(
    site: web::Data<Site>,
    visitor: Visitor,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let (_, provider) = provider_of(&visitor, &id).await?;
    site.saml.admit(&visitor.origin())?;
    Ok(HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "max-age=300")).json(provider.jwks()))
}
