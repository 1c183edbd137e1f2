//! What the database's connections and queues look like just now.

use super::{queue_status::Queue, scans::ScanMetrics};

/// Connections and queues of all runtimes that share a [`crate::Store`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolMetrics {
    /// Connections that are open.
    pub open: usize,
    /// Those of them that nobody uses.
    pub idle: usize,
    /// How many there may be.
    pub max: usize,
    /// What waits, and for what.
    pub queues: Vec<Queue>,
    /// Metrics of scans.
    pub scans: ScanMetrics,
    /// Bytes of SQLite's write-ahead log.
    pub wal_bytes: Option<u64>,
}
