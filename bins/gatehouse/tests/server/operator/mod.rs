//! Tests of what operators rely on.

mod backup;
mod burst;
mod copy;
mod doctor;
mod draining;
mod keys;
mod listings;
mod manual;
mod overload;
mod reencrypt;
mod roles;
mod statistics;
mod tenant_with_secrets;
mod tls;
mod traces;
mod transfer;

use std::time::{Duration, Instant};

/// Waits until a condition holds, and returns how long that took.
fn until(what: &str, patience: Duration, is: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < patience, "not within {patience:?}: {what}");
        std::thread::yield_now();
    }
    start.elapsed()
}
