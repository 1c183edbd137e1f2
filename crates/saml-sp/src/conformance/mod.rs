//! The targets of the fuzzers.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a suite speaks by panicking")]

pub mod fuzz;
