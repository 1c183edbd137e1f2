//! Fuzz targets.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a suite speaks by panicking")]

pub mod fuzz;
