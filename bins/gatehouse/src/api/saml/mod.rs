//! `/api/saml`: sign-in through an identity provider.

mod acs;
mod area;
mod browser;
mod login;
mod logout;
mod metadata;
mod provider;
mod slo;

pub(crate) use self::{
    area::Saml,
    login::{LoginQuery, MAX_RELAY_STATE},
    provider::service_of,
};
use crate::api::Registry;
pub(crate) use crate::workers::saml::SamlWorker;

/// Outcomes of a response, besides failed checks, as labels of the metrics.
pub(crate) const OUTCOMES: [&str; 3] = ["SIGNED_IN", "MFA_OWED", "TESTED"];
/// Outcomes of a metadata refresh, as labels of the metrics.
pub(crate) const READINGS: [&str; 3] = ["unchanged", "changed", "failed"];

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry
        .service(metadata::saml_metadata)
        .service(login::saml_login)
        .service(acs::saml_acs)
        .service(slo::saml_slo)
        .service(slo::saml_slo_redirect)
        .service(logout::saml_logout);
}
