//! Fuzz targets.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a conformance suite fails by panicking")]

pub mod fuzz;
