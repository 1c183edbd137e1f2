//! Integration tests of the server. The folders mirror the URLs.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod api;
mod architecture;
mod attacks;
mod cli;
mod coverage;
mod docs;
mod handlers;
mod hostile;
mod leaked_passwords;
mod limits;
mod module_graph;
mod oidc_cli;
mod operations;
mod operator;
mod pages;
mod parallel;
mod people_cli;
mod probes;
mod saml_cli;
mod secrets;
mod sso_pages;
mod support;
mod webhooks_cli;
