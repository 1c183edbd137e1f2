//! `/api/developers`: the API description and the event catalog.

use crate::api::Registry;
use actix_web::{HttpRequest, HttpResponse, get, web};

use super::Site;

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry.service(get_openapi).service(get_events);
}

/// Get the OpenAPI description
///
/// OpenAPI 3.1 description of all endpoints. Fetch it again when the header `X-Service-Spec-Version` of any response
/// changes. Supports `If-None-Match`.
#[utoipa::path(
    security(()),
    responses(
        (status = 200, description = "The description.", body = Object, content_type = "application/json"),
        (status = 304, description = "Not modified."),
    )
)]
#[get("/api/developers/openapi.json")]
async fn get_openapi(site: web::Data<Site>, request: HttpRequest) -> HttpResponse {
    site.documents.openapi.answer(&request)
}

/// Get the event catalog
///
/// All event types that webhooks can subscribe to, each with the JSON Schema and an example of its payload.
#[utoipa::path(
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
        (status = 304, description = "Not modified."),
    )
)]
#[get("/api/developers/events.json")]
async fn get_events(site: web::Data<Site>, request: HttpRequest) -> HttpResponse {
    site.documents.events.answer(&request)
}
