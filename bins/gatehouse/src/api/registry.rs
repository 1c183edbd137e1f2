//! Registers the operations of the API: as routes of a server, or in the OpenAPI description.

use actix_web::{dev::HttpServiceFactory, web::ServiceConfig};
use utoipa::openapi::OpenApi;
use utoipa_actix_web::OpenApiFactory;

/// Where operations are registered.
///
/// The `ServiceConfig` of utoipa-actix-web does both each time, so that each worker of a server would also build the
/// description, which takes longer than its routes.
pub(crate) enum Registry<'r> {
    Routes(&'r mut ServiceConfig),
    Description(&'r mut OpenApi),
}

impl Registry<'_> {
    /// Registers an operation.
    pub(crate) fn service(
        &mut self,
        operation: impl HttpServiceFactory + OpenApiFactory + 'static,
    ) -> &mut Self {
        match self {
            Self::Routes(config) => {
                config.service(operation);
            }
            Self::Description(api) => {
                let mut schemas = Vec::new();
                operation.schemas(&mut schemas);
                api.components.get_or_insert_default().schemas.extend(schemas);
                api.paths.merge(operation.paths());
            }
        }
        self
    }

    /// Registers the operations of an area.
    pub(crate) fn configure(&mut self, area: impl FnOnce(&mut Registry<'_>)) -> &mut Self {
        area(self);
        self
    }
}
