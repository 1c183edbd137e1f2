//! `/api/developers`: the description of the API and the catalog of events.

use std::sync::OnceLock;

use actix_web::{HttpRequest, HttpResponse, get, web};
use serde_json::{Value, json};
use utoipa_actix_web::service_config::ServiceConfig;

use super::{Site, describe::document, document::Document};

pub(super) fn routes(config: &mut ServiceConfig<'_>) {
    config.service(get_openapi).service(get_events);
}

const JSON: &str = "application/json";

/// The two documents, made once.
pub struct Documents {
    value: Value,
    openapi: Document,
    events: Document,
    spec_version: String,
    /// The page that shows them, from its first request on.
    pub(crate) reference: OnceLock<Document>,
}

impl Documents {
    /// Makes both.
    pub fn new() -> Self {
        let value = document();
        let (openapi, hash) = Document::new(JSON, value.to_string());
        let (events, _) = Document::new(JSON, events().to_string());
        Self { value, openapi, events, spec_version: format!("1.0.0+{hash}"), reference: OnceLock::new() }
    }

    pub(crate) fn openapi_json(&self) -> &Value {
        &self.value
    }

    pub(crate) fn spec_version(&self) -> &str {
        &self.spec_version
    }
}

impl Default for Documents {
    fn default() -> Self {
        Self::new()
    }
}

/// The catalog: `{version, events: [{type, description, resourceType, schema, example}]}`.
pub fn events() -> Value {
    let catalog = audit::events::catalog();
    let events: Vec<_> = catalog
        .specs()
        .iter()
        .map(|spec| {
            json!({
                "type": spec.code,
                "description": spec.description,
                "resourceType": spec.resource_type,
                "schema": spec.schema,
                "example": spec.example,
            })
        })
        .collect();
    let (_, hash) = Document::new(JSON, json!(events).to_string());
    json!({ "version": format!("1.0.0+{hash}"), "events": events })
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
