//! The HTTP endpoints. Folders mirror URLs.

mod attestation;
pub(crate) mod auth;
mod call;
pub(crate) mod developers;
pub(crate) mod documents;
mod me;
pub(crate) mod oidc;
pub(crate) mod openapi;
mod people;
mod provider_session;
pub(crate) mod query;
mod registry;
pub(crate) mod saml;
mod scim;
pub(crate) mod settings;
pub(crate) mod site;
pub(crate) mod ssf;
pub(crate) mod sso;
pub(crate) mod webhook_keys;

pub(crate) use self::{
    attestation::known_as,
    people::page as page_of_people,
    settings::{
        DryRun, DryRunChange, HeldRemovalView, OidcProviderView, ProviderView, SsoAccounts, built_in_role,
        dry_run_of, impact_of, removals_with_names, user_filter,
    },
};
pub(crate) use self::{
    call::{Answer, Call, generated_id},
    provider_session::AtProvider,
    registry::Registry,
    scim::MAX_CHANGES,
    site::Site,
};
pub use self::{documents::events, openapi::document};

/// Registers every operation of the API, in the order of the API reference.
pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry
        .configure(developers::routes)
        .configure(auth::routes)
        .configure(saml::routes)
        .configure(oidc::routes)
        .configure(me::routes)
        .configure(people::routes)
        .configure(settings::routes)
        .configure(webhook_keys::routes)
        .configure(ssf::routes)
        .configure(scim::routes);
}

/// Registers the operations that get most requests. actix compares a path with one pattern after the other, so these are
/// compared first.
pub(crate) fn frequent_routes(registry: &mut Registry<'_>) {
    registry.configure(scim::routes).configure(me::routes);
}
