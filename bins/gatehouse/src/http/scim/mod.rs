//! `/api/scim/v2`

mod answers;
mod groups;
mod search;
mod service;
mod shapes;
mod users;

use utoipa_actix_web::service_config::ServiceConfig;

use super::Site;

pub(super) fn routes(config: &mut ServiceConfig<'_>) {
    config
        .configure(service::routes)
        .configure(users::routes)
        .configure(groups::routes)
        .configure(search::routes);
}

/// The address of the SCIM root, which resources' locations begin with.
fn root(site: &Site) -> String {
    format!("{}/api/scim/v2", site.pipeline.base_url)
}
