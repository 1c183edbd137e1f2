//! The OCSF event that ends a batch of a stream.

use kernel::Timestamp;
use serde::Serialize;

use super::event::{Metadata, Source};

/// The `metadata.event_code` of a [`CheckpointEvent`].
pub const CHECKPOINT: &str = "AUDIT_LOG_CHECKPOINT";

/// The events before this one, back to the previous event of this kind, are all that the stream sends of a range of the
/// log. A base event of OCSF.
#[derive(Debug, Serialize)]
pub struct CheckpointEvent<'e> {
    activity_id: u8,
    activity_name: &'static str,
    category_uid: u32,
    category_name: &'static str,
    class_uid: u32,
    class_name: &'static str,
    type_uid: u32,
    severity_id: u8,
    severity: &'static str,
    /// Milliseconds since 1970.
    time: i64,
    message: &'static str,
    metadata: Metadata<'e>,
    unmapped: &'e SentRange<'e>,
}

/// A range of the log, and what proves that nothing of it is missing.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SentRange<'e> {
    /// The stream.
    pub stream: &'e str,
    /// First position of the range.
    pub from: u64,
    /// Position after the range, where the next one begins.
    pub next: u64,
    /// Number of events of this range that match the filter.
    pub entries: usize,
    /// Whether the filter leaves events out.
    pub filtered: bool,
    /// Entries before this position were removed after their retention, if any were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed_before: Option<u64>,
    /// The newest checkpoint of the log, a signed note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<&'e str>,
}

impl<'e> CheckpointEvent<'e> {
    /// Creates the event of a range. `uid` is the same for the same range of a stream.
    pub fn new(range: &'e SentRange<'e>, uid: &'e str, source: &'e Source, now: Timestamp) -> Self {
        Self {
            activity_id: 99,
            activity_name: "Checkpoint",
            category_uid: 0,
            category_name: "Uncategorized",
            class_uid: 0,
            class_name: "Base Event",
            type_uid: 99,
            severity_id: 1,
            severity: "Informational",
            time: now.unix_millis(),
            message: "The end of a batch of audit entries.",
            metadata: Metadata::new(source, uid, CHECKPOINT, None),
            unmapped: range,
        }
    }
}
