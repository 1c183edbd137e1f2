//! A queue, seen from outside.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Units of work that wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// For what: `connection`, `reader`, `writer`, `scan` or `large_change`.
    pub name: &'static str,
    /// Number of waiting units of work.
    pub waiting: usize,
    /// How long the first of them has waited.
    pub oldest: Duration,
}

/// A queue, seen from outside: who waits says so.
#[derive(Default)]
pub(crate) struct QueueStatus(Mutex<QueueState>);

#[derive(Default)]
struct QueueState {
    next: u64,
    since: BTreeMap<u64, Instant>,
}

/// A place in a queue; given up when dropped.
pub(crate) struct QueueTicket {
    line: Arc<QueueStatus>,
    number: u64,
}

impl QueueStatus {
    pub(crate) fn join(self: &Arc<Self>) -> QueueTicket {
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = line.next;
        line.next += 1;
        line.since.insert(number, Instant::now());
        QueueTicket { line: Arc::clone(self), number }
    }

    /// What there is of it and its like on other runtimes.
    pub(crate) fn sum<'w>(name: &'static str, lines: impl IntoIterator<Item = &'w Arc<Self>>) -> Queue {
        let mut queue = Queue { name, waiting: 0, oldest: Duration::ZERO };
        for line in lines {
            let line = line.0.lock().unwrap_or_else(PoisonError::into_inner);
            queue.waiting += line.since.len();
            let first = line.since.first_key_value().map(|(_, since)| since.elapsed());
            queue.oldest = queue.oldest.max(first.unwrap_or_default());
        }
        queue
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        self.line.0.lock().unwrap_or_else(PoisonError::into_inner).since.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_seen_until_it_does_no_longer() {
        let lines = [Arc::new(QueueStatus::default()), Arc::new(QueueStatus::default())];
        let places = [lines[0].join(), lines[1].join()];
        let queue = QueueStatus::sum("writer", &lines);
        assert_eq!(queue.waiting, 2);
        assert!(queue.oldest > Duration::ZERO);
        drop(places);
        assert_eq!(
            QueueStatus::sum("writer", &lines),
            Queue { name: "writer", waiting: 0, oldest: Duration::ZERO }
        );
    }
}
