//! `/api/saml`: signing in through an identity provider.

mod acs;
mod admit;
mod area;
mod browser;
mod chores;
mod login;
mod metadata;
mod provider;
mod recheck;
mod report;

use utoipa_actix_web::service_config::ServiceConfig;

pub(super) use self::{area::Saml, chores::Caretaker, provider::service_of};

/// What a response may come to beside the check that it fails, as `/metrics` has it.
pub(super) const OUTCOMES: [&str; 3] = ["SIGNED_IN", "MFA_OWED", "TESTED"];
/// What reading the metadata of an identity provider may come to, as `/metrics` has it.
pub(super) const READINGS: [&str; 3] = ["unchanged", "changed", "failed"];

pub(super) fn routes(config: &mut ServiceConfig<'_>) {
    config.service(metadata::saml_metadata).service(login::saml_login).service(acs::saml_acs);
}
