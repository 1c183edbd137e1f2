//! `/api/scim/v2`

mod answers;
mod given_roles;
mod groups;
mod parameters;
mod removals;
mod root;
mod search;
mod service;
mod shapes;
mod target;
mod users;

pub(crate) use self::target::MAX_CHANGES;
use crate::api::Registry;

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry
        .configure(service::routes)
        .configure(users::routes)
        .configure(groups::routes)
        .configure(search::routes);
}
