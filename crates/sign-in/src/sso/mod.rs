//! Single sign-on: sign-ins with SAML and OpenID Connect, and changes of SSO connections and verified domains with
//! their audit entries. The API, the command line and the workers share them.

mod account;
mod accounts;
mod connections;
mod domains;
mod logout;
pub mod oidc;
mod outcome;
mod response;
mod saml_logout;
mod signal;

use directory::{ConnectionAccountStore, RoleStore};
use saml_sp::{ConnectionTestStore, DomainStore, RequestStore, SubjectStore};

pub use self::{
    accounts::change_accounts,
    connections::{
        Maintenance, complete_rotation, create, maintain, refresh, remove, replace, start_rotation,
        start_test, tenant_setup, tenant_setup_under, unpin_subject,
    },
    domains::{recheck_domain, release_domain, verify_domain, verify_domain_as_operator},
    outcome::SsoOutcome,
    response::{SamlResponse, refusal_event, with_saml_response},
    saml_logout::{
        logout_token, provider_session, read_logout_token, saml_log_out, saml_logout_refusal_event,
    },
    signal::{Signal, SignalDemand, SignalEffect, SignalOutcome, SignalStorage, SignalledUser, enforce},
};
use crate::store::Storage;

/// The storage that a sign-in through an identity provider needs. Every type with these traits implements it.
pub trait SsoStorage:
    Storage + RequestStore + SubjectStore + ConnectionTestStore + DomainStore + RoleStore + ConnectionAccountStore
{
}

impl<S> SsoStorage for S where
    S: Storage
        + RequestStore
        + SubjectStore
        + ConnectionTestStore
        + DomainStore
        + RoleStore
        + ConnectionAccountStore
{
}
