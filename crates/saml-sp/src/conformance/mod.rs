//! Fuzz targets, and an identity provider for tests.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a conformance suite fails by panicking")]

pub mod fuzz;
pub mod identity_provider;
