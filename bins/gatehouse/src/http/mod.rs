//! The HTTP side: folder = URL.

mod area_metrics;
mod attestation;
mod auth;
mod counters;
mod deliveries;
mod describe;
mod digest;
mod discovery;
mod document;
mod documents;
mod lifecycle;
mod lockout;
mod me;
mod paging;
mod people;
pub(crate) mod query;
mod saml;
mod scim;
mod sealer;
mod settings;
mod site;
mod waits;

use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use self::site::Site;
pub(crate) use self::{
    attestation::known_as,
    document::Document,
    lockout::missing as missing_to_sign_in,
    me::tokens::created as pat_created,
    settings::{
        Around, AttestationImpact, ShownProvider, change_network_policy, change_policy, check_policy,
        impact_of,
    },
};
pub use self::{
    counters::known_counters,
    describe::document,
    documents::events,
    lifecycle::{Bound, Parts, bind},
};

/// Every operation of the API. What is not here does not exist.
pub(crate) fn routes(config: &mut ServiceConfig<'_>) {
    config
        .configure(discovery::routes)
        .configure(auth::routes)
        .configure(saml::routes)
        .configure(me::routes)
        .configure(people::routes)
        .configure(settings::routes)
        .configure(scim::routes);
}
