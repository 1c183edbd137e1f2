//! `/api/developers`: the description of the API and the catalog of events.

use actix_web::{HttpRequest, HttpResponse, get, web};
use utoipa_actix_web::service_config::ServiceConfig;

use super::Site;

pub(crate) fn routes(config: &mut ServiceConfig<'_>) {
    config.service(get_openapi).service(get_events);
}

/// The OpenAPI description
///
/// OpenAPI 3.1 of every endpoint. Fetch it again when the header `X-Service-Spec-Version` of any answer
/// changes; `If-None-Match` makes that cheap.
#[utoipa::path(
    tag = "Discovery",
    security(()),
    responses(
        (status = 200, description = "The document.", body = Object, content_type = "application/json"),
        (status = 304, description = "It is the one named by If-None-Match."),
    )
)]
#[get("/api/developers/openapi.json")]
async fn get_openapi(site: web::Data<Site>, request: HttpRequest) -> HttpResponse {
    site.documents.openapi.answer(&request)
}

/// The catalog of events
///
/// Every event type that a tenant can subscribe to, with JSON Schema and example of its payload.
#[utoipa::path(
    tag = "Discovery",
    security(()),
    responses(
        (
            status = 200,
            description = "The catalog.",
            body = Object,
            content_type = "application/json",
            example = json!({ "version": "1.0.0+0123456789ab", "events": [{
                "type": "ACCOUNT_USER_CREATED", "description": "A person was added to the tenant's directory.",
                "resourceType": "user", "schema": {}, "example": {}
            }] })
        ),
        (status = 304, description = "It is the one named by If-None-Match."),
    )
)]
#[get("/api/developers/events.json")]
async fn get_events(site: web::Data<Site>, request: HttpRequest) -> HttpResponse {
    site.documents.events.answer(&request)
}
