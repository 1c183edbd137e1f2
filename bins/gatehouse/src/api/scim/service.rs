//! `/ServiceProviderConfig`, `/Schemas`, `/ResourceTypes`

use actix_web::{HttpResponse, get, http::StatusCode, web};
use scim_core::{
    AuthenticationScheme, ProviderConfig, Start, list_response,
    schema::{RESOURCE_TYPES, SCHEMAS, Schema, resource_type, schema_resource},
    service_provider_config,
};
use serde_json::Value;

use super::{root::root, shapes::ScimList};
use crate::api::{Call, Registry, Site};
use gate::{
    body::scim_answer,
    errors::{Problem, ScimProblem},
    permissions::ScimRead,
};

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry
        .service(get_service_provider_config)
        .service(list_schemas)
        .service(get_schema)
        .service(list_resource_types)
        .service(get_resource_type);
}

/// Get the service provider configuration
///
/// RFC 7643, section 5. Bulk operations, sorting and ETags are not supported.
#[utoipa::path(
    security(()),
    responses((status = 200, description = "The description.", body = Object))
)]
#[get("/api/scim/v2/ServiceProviderConfig")]
async fn get_service_provider_config(site: web::Data<Site>) -> HttpResponse {
    let scheme = AuthenticationScheme::bearer(
        "SCIM token",
        "Authorization: Bearer scim_…, issued by an administrator of the tenant",
    );
    let config = ProviderConfig { documentation_uri: None, authentication_schemes: vec![scheme] };
    scim_answer(StatusCode::OK, &service_provider_config(&root(&site), &config))
}

/// List schemas
#[utoipa::path(responses((status = 200, description = "RFC 7643, section 7.", body = ScimList)))]
#[get("/api/scim/v2/Schemas")]
async fn list_schemas(call: Call<ScimRead>) -> HttpResponse {
    let root = root(&call.site);
    let schemas: Vec<_> = SCHEMAS.iter().map(|schema| schema_resource(schema, &root)).collect();
    whole_list(schemas)
}

/// Get a schema
#[utoipa::path(
    params(("id" = String, Path, description = "URN of the schema.", example = "urn:ietf:params:scim:schemas:core:2.0:User")),
    responses(
        (status = 200, description = "RFC 7643, section 7.", body = Object),
        (status = 404, description = "Unknown schema."),
    )
)]
#[get("/api/scim/v2/Schemas/{id}")]
async fn get_schema(call: Call<ScimRead>) -> Result<HttpResponse, ScimProblem> {
    let schema = Schema::of(&call.id::<String>()?).ok_or_else(Problem::not_found)?;
    Ok(scim_answer(StatusCode::OK, &schema_resource(schema, &root(&call.site))))
}

/// List resource types
#[utoipa::path(responses((status = 200, description = "RFC 7643, section 6.", body = ScimList)))]
#[get("/api/scim/v2/ResourceTypes")]
async fn list_resource_types(call: Call<ScimRead>) -> HttpResponse {
    let root = root(&call.site);
    whole_list(RESOURCE_TYPES.iter().map(|kind| resource_type(kind, &root)).collect())
}

/// Get a resource type
#[utoipa::path(
    params(("id" = String, Path, description = "Name of the resource type.", example = "User")),
    responses(
        (status = 200, description = "RFC 7643, section 6.", body = Object),
        (status = 404, description = "Unknown resource type."),
    )
)]
#[get("/api/scim/v2/ResourceTypes/{id}")]
async fn get_resource_type(call: Call<ScimRead>) -> Result<HttpResponse, ScimProblem> {
    let id: String = call.id()?;
    let kind = RESOURCE_TYPES.iter().find(|kind| kind.name == id).ok_or_else(Problem::not_found)?;
    Ok(scim_answer(StatusCode::OK, &resource_type(kind, &root(&call.site))))
}

fn whole_list(resources: Vec<Value>) -> HttpResponse {
    let total = resources.len() as u64;
    scim_answer(StatusCode::OK, &list_response(total, &Start::Index(1), None, resources))
}
