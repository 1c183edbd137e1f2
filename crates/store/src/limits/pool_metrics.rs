//! Metrics of the database's connections and queues.

use super::{queue_status::Queue, scans::ScanMetrics};

/// Connections and queues of all runtimes that share a [`crate::Store`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolMetrics {
    /// Open connections.
    pub open: usize,
    /// Idle connections.
    pub idle: usize,
    /// Maximum number of connections.
    pub max: usize,
    /// The queues.
    pub queues: Vec<Queue>,
    /// Metrics of scans.
    pub scans: ScanMetrics,
    /// Size of SQLite's write-ahead log, in bytes.
    pub wal_bytes: Option<u64>,
    /// When the client certificate for PostgreSQL expires, in seconds since 1970; `None` without one.
    pub certificate_ends: Option<i64>,
}
