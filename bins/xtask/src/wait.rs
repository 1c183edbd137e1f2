//! Waits for a condition.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::sh::Result;

/// Waits until a condition holds. The error is the problem that it did not in time.
pub fn until(most: Duration, problem: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !is_so()? {
        if start.elapsed() > most {
            return Err(format!("{problem} within {most:?}"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
