//! `GET /api/saml/{providerId}/metadata`

use actix_web::{HttpResponse, get, http::header, web};

use super::provider::{provider_of, service_of};
use crate::api::Site;
use gate::{access::Visitor, errors::Problem};

/// Get service provider metadata
///
/// SAML metadata to import at the identity provider: entity ID, assertion consumer service (HTTP-POST), single logout service and the
/// certificates of all keys in use. During a rotation there are two.
#[utoipa::path(
    security(()),
    responses(
        (status = 200, description = "An EntityDescriptor.", content_type = "application/samlmetadata+xml", body = String),
    )
)]
#[get("/api/saml/{providerId}/metadata")]
pub(crate) async fn saml_metadata(
    site: web::Data<Site>,
    visitor: Visitor,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let (_, provider) = provider_of(&visitor, &id).await?;
    let service = service_of(&site, &provider.id);
    let text = service.metadata(&provider.keys, provider.sign_requests).map_err(Problem::unexpected)?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .content_type("application/samlmetadata+xml")
        .body(text))
}
