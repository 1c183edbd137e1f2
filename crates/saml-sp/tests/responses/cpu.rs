//! What something costs, in time of this thread on a processor: others who use the machine do not count.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Of this thread, so far.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}

/// Of some work, once.
pub(crate) fn of(work: impl FnOnce()) -> Duration {
    let start = spent();
    work();
    spent().saturating_sub(start)
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
