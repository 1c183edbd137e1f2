//! A part of a log that a stream sends next.

use audit::ListedEntry;

/// Entries from a position of the log, with what a receiver needs to prove that nothing is missing.
#[derive(Debug, Clone, Default)]
pub struct LogPage {
    /// Entries with their positions, in order.
    pub entries: Vec<(u64, ListedEntry)>,
    /// Where the next page begins.
    pub next: u64,
    /// Number of sealed entries.
    pub size: u64,
    /// The newest checkpoint as a signed note, if there is one.
    pub checkpoint: Option<String>,
    /// Entries before this position were removed after their retention, if any were.
    pub removed_before: Option<u64>,
}
