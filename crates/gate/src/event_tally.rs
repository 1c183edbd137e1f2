//! Counts events for the log, which is told of them once a second at most.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// Events since the last line about them.
pub(crate) struct EventTally {
    started: Instant,
    since: AtomicU64,
    /// Seconds from the start to the last line; 0 before the first.
    told: AtomicU64,
}

impl Default for EventTally {
    fn default() -> Self {
        Self { started: Instant::now(), since: AtomicU64::new(0), told: AtomicU64::new(0) }
    }
}

impl EventTally {
    /// Counts one, and returns how many the log has not been told of if it is time for a line.
    pub(crate) fn add(&self) -> Option<u64> {
        let events = self.since.fetch_add(1, Ordering::Relaxed) + 1;
        let now = self.started.elapsed().as_secs() + 1;
        if self.told.swap(now, Ordering::Relaxed) == now {
            return None;
        }
        self.since.fetch_sub(events, Ordering::Relaxed);
        Some(events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_gets_one_line_a_second() {
        let tally = EventTally::default();
        assert_eq!(tally.add(), Some(1));
        let lines = (0..100).filter(|_| tally.add().is_some()).count();
        assert!(lines <= 1, "{lines} lines");
    }
}
