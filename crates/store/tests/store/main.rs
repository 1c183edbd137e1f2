//! Storage on both databases.
#![expect(clippy::unwrap_used, clippy::panic, clippy::manual_assert, reason = "tests fail by panicking")]

mod atomic;
mod audit;
mod audit_log;
mod conformance;
mod device_bound;
mod dialects;
mod filters;
mod log_streams;
mod migrations;
mod oidc;
mod oidc_values;
mod people;
mod provider_sessions;
mod reencryption;
mod saml;
mod scim_refusals;
mod sequences;
mod signals;
mod statistics;
mod suites;
mod support;
mod unaudited;
mod webhooks;
