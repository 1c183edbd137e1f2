//! Metrics of a queue.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Waiting units of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// What they wait for: `connection`, `reader`, `writer`, `scan` or `large_change`.
    pub name: &'static str,
    /// Number of waiting units of work.
    pub waiting: usize,
    /// How long the first unit of work has waited.
    pub oldest: Duration,
}

/// Counts the units of work in a queue. Waiting work registers itself.
#[derive(Default)]
pub(crate) struct QueueStatus(Mutex<QueueState>);

#[derive(Default)]
struct QueueState {
    next: u64,
    since: BTreeMap<u64, Instant>,
}

/// A place in a queue, released on drop.
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

    /// Sums up this kind of queue over all runtimes.
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
    fn waiting_work_is_counted_until_it_stops_waiting() {
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
