//! Counts events and limits their log lines to one per second.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// Events since the last log line.
pub(crate) struct EventTally {
    started: Instant,
    since: AtomicU64,
    /// Seconds from the start to the last log line; 0 before the first.
    last_line: AtomicU64,
}

impl Default for EventTally {
    fn default() -> Self {
        Self { started: Instant::now(), since: AtomicU64::new(0), last_line: AtomicU64::new(0) }
    }
}

impl EventTally {
    /// Counts an event. Returns the number of events since the last log line if a new line is due.
    pub(crate) fn add(&self) -> Option<u64> {
        let events = self.since.fetch_add(1, Ordering::Relaxed) + 1;
        let now = self.started.elapsed().as_secs() + 1;
        if self.last_line.swap(now, Ordering::Relaxed) == now {
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
    fn at_most_one_log_line_per_second() {
        let tally = EventTally::default();
        assert_eq!(tally.add(), Some(1));
        let lines = (0..100).filter(|_| tally.add().is_some()).count();
        assert!(lines <= 1, "{lines} lines");
    }
}
