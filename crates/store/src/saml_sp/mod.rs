//! SAML: identity providers, domains, requests of ours, assertions that were used, and tests of connections.

mod domains;
mod over;
mod providers;
mod recheck;
mod requests;
mod subjects;
mod trials;
mod upkeep;

pub use self::{over::SamlOver, upkeep::SamlExpiry};
