//! Integration tests.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod export;
mod findings;
mod log;
mod memory;
mod ocsf;
mod query;
mod removed;
mod retention;
mod rfc6962;
mod sealer;
mod sealing;
mod support;
mod tampering;
mod witness;
