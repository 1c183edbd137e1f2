//! SAML: identity providers, domains, requests, used assertions and connection tests.

mod connection_tests;
mod domains;
mod expired;
mod providers;
mod recheck;
mod refresh;
mod requests;
mod subjects;

pub use self::{expired::ExpiredSaml, refresh::SamlExpiry};
