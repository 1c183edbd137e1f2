//! SAML: identity providers, domains, requests of ours, assertions that were used, and tests of connections.

mod connection_tests;
mod domains;
mod expired;
mod providers;
mod recheck;
mod refresh;
mod requests;
mod subjects;

pub use self::{expired::ExpiredSaml, refresh::SamlExpiry};
