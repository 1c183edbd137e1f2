//! Signed statements about a tenant's log: removals, retention settings, and the position from which each entry has a
//! MAC.
//!
//! Each is a C2SP signed note with the key of the log's checkpoints. The first line names the kind of statement and
//! the tenant (`gatehouse/audit-removal/ten_…`), so that it cannot be mistaken for a checkpoint or another statement.
//! The second line is JSON.

use kernel::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    checkpoint::{CheckpointKey, CheckpointKeys, verify_signatures},
    note::split_note,
};
use crate::error::NoteError;

/// A kind of statement.
pub trait Statement: Serialize + DeserializeOwned {
    /// The kind in the first line, after `gatehouse/audit-`.
    const KIND: &'static str;

    /// Returns the statement as a note about this tenant's log, signed with the newest key; `None` without a key.
    fn sign(&self, tenant: &str, keys: &CheckpointKeys) -> Option<String> {
        let body = serde_json::to_string(self).ok()?;
        keys.sign_text(tenant, &format!("{}\n{body}\n", first_line::<Self>(tenant)))
    }

    /// Parses a note about this tenant's log and verifies that one of these keys has signed it.
    fn verified(note: &str, tenant: &str, keys: &[CheckpointKey]) -> Result<Self, NoteError> {
        let (text, signatures) = split_note(note)?;
        let (first, body) = text.trim_end_matches('\n').split_once('\n').ok_or(NoteError::Malformed)?;
        if first != first_line::<Self>(tenant) {
            return Err(NoteError::Malformed);
        }
        verify_signatures(text, signatures, tenant, keys)?;
        serde_json::from_str(body).map_err(|_| NoteError::Malformed)
    }
}

fn first_line<S: Statement>(tenant: &str) -> String {
    format!("gatehouse/audit-{}/{tenant}", S::KIND)
}

/// Declares that entries at the beginning of the log are removed because their retention has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Removal {
    /// The first removed position.
    pub from: u64,
    /// The first remaining position.
    pub before: u64,
    /// The root hash of the tree over all positions before `before`, in base64.
    pub root: String,
    /// The time of the newest removed entry.
    pub newest: Timestamp,
    /// The retention in days at the time of the declaration.
    pub days: u32,
    /// The time of the declaration.
    pub at: Timestamp,
}

impl Statement for Removal {
    const KIND: &'static str = "removal";
}

/// A retention setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retention {
    /// Retention in days; `None` keeps entries forever.
    pub days: Option<u32>,
    /// When the setting takes effect.
    pub at: Timestamp,
}

impl Statement for Retention {
    const KIND: &'static str = "retention";
}

/// Declares that entries from this position on have a MAC. Earlier ones were sealed by a version without MACs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MacStart {
    /// The first position whose entry must have a MAC.
    pub from: u64,
}

impl Statement for MacStart {
    const KIND: &'static str = "macs";
}
