//! `/ServiceProviderConfig`, `/Schemas`, `/ResourceTypes`

use actix_web::{HttpResponse, get, http::StatusCode, web};
use scim_core::{
    Start, list_response,
    schema::{RESOURCE_TYPES, SCHEMAS, Schema, resource_type, schema_resource},
    service_provider_config,
};
use serde_json::Value;
use utoipa_actix_web::service_config::ServiceConfig;

use super::{root::root, shapes::ScimList};
use crate::api::Site;
use gate::{
    access::Access,
    body::scim_answer,
    errors::{Problem, ScimProblem},
    permissions::ScimRead,
};

pub(crate) fn routes(config: &mut ServiceConfig<'_>) {
    config
        .service(get_service_provider_config)
        .service(list_schemas)
        .service(get_schema)
        .service(list_resource_types)
        .service(get_resource_type);
}

/// What this SCIM service can do
///
/// RFC 7643 §5. Bulk operations, sorting and ETags are not supported.
#[utoipa::path(
    tag = "SCIM",
    security(()),
    responses((status = 200, description = "The document.", body = Object))
)]
#[get("/api/scim/v2/ServiceProviderConfig")]
async fn get_service_provider_config(site: web::Data<Site>) -> HttpResponse {
    scim_answer(StatusCode::OK, &service_provider_config(&root(&site)))
}

/// All schemas
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    responses((status = 200, description = "RFC 7643 §7.", body = ScimList))
)]
#[get("/api/scim/v2/Schemas")]
async fn list_schemas(site: web::Data<Site>, _access: Access<ScimRead>) -> HttpResponse {
    let root = root(&site);
    let schemas: Vec<_> = SCHEMAS.iter().map(|schema| schema_resource(schema, &root)).collect();
    whole_list(schemas)
}

/// One schema
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(("id" = String, Path, description = "The schema's URN.", example = "urn:ietf:params:scim:schemas:core:2.0:User")),
    responses(
        (status = 200, description = "RFC 7643 §7.", body = Object),
        (status = 404, description = "There is no such schema."),
    )
)]
#[get("/api/scim/v2/Schemas/{id}")]
async fn get_schema(
    site: web::Data<Site>,
    _access: Access<ScimRead>,
    id: web::Path<String>,
) -> Result<HttpResponse, ScimProblem> {
    let schema = Schema::of(&id).ok_or_else(Problem::not_found)?;
    Ok(scim_answer(StatusCode::OK, &schema_resource(schema, &root(&site))))
}

/// All resource types
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    responses((status = 200, description = "RFC 7643 §6.", body = ScimList))
)]
#[get("/api/scim/v2/ResourceTypes")]
async fn list_resource_types(site: web::Data<Site>, _access: Access<ScimRead>) -> HttpResponse {
    let root = root(&site);
    whole_list(RESOURCE_TYPES.iter().map(|kind| resource_type(kind, &root)).collect())
}

/// One resource type
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(("id" = String, Path, description = "Its name.", example = "User")),
    responses(
        (status = 200, description = "RFC 7643 §6.", body = Object),
        (status = 404, description = "There is no such resource type."),
    )
)]
#[get("/api/scim/v2/ResourceTypes/{id}")]
async fn get_resource_type(
    site: web::Data<Site>,
    _access: Access<ScimRead>,
    id: web::Path<String>,
) -> Result<HttpResponse, ScimProblem> {
    let kind = RESOURCE_TYPES.iter().find(|kind| kind.name == id.as_str()).ok_or_else(Problem::not_found)?;
    Ok(scim_answer(StatusCode::OK, &resource_type(kind, &root(&site))))
}

fn whole_list(resources: Vec<Value>) -> HttpResponse {
    let total = resources.len() as u64;
    scim_answer(StatusCode::OK, &list_response(total, &Start::Index(1), None, resources))
}
