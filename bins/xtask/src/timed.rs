//! Prints how long parts of the tests take.

use std::time::{Duration, Instant};

use xtask::sh::Result;

/// Runs a part and prints its name before and its duration after it.
pub(crate) fn timed<T>(name: &str, part: impl FnOnce() -> Result<T>) -> (Result<T>, Duration) {
    println!("== {name}");
    let start = Instant::now();
    let done = part();
    let time = start.elapsed();
    println!("== {name}: {:.1} minutes", minutes(time));
    (done, time)
}

pub(crate) fn minutes(time: Duration) -> f64 {
    time.as_secs_f64() / 60.0
}
