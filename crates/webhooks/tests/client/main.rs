//! Tests of the HTTP client for untrusted URLs: which addresses it connects to, and what a response may cost.
#![cfg(feature = "deliver")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod bounds;
mod guard;
mod hostile;
mod manners;
mod receiver;
mod support;
mod table;
