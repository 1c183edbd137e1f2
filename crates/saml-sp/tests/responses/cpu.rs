//! Measures CPU time of the current thread, independently of other load on the machine.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the CPU time of this thread so far.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}

/// Returns the CPU time of running `work` once.
pub(crate) fn of(work: impl FnOnce()) -> Duration {
    let start = spent();
    work();
    spent().saturating_sub(start)
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
