//! Signed statements about a tenant's log: what was removed from it, how long entries are kept, and from where on each entry
//! has a MAC.
//!
//! Each is a C2SP signed note with the key of the log's checkpoints. The first line names the kind of statement and the tenant
//! (`gatehouse/audit-removal/ten_…`), so that it passes for no checkpoint and for no other statement; the second is JSON.

use kernel::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::checkpoint::{CheckpointKey, CheckpointKeys, split_note, verify_signatures};
use crate::error::NoteError;

/// A kind of statement.
pub trait Statement: Serialize + DeserializeOwned {
    /// What its first line begins with, after `gatehouse/audit-`.
    const KIND: &'static str;

    /// The statement as a note about this tenant's log, signed with the newest key; `None` without a key.
    fn sign(&self, tenant: &str, keys: &CheckpointKeys) -> Option<String> {
        let body = serde_json::to_string(self).ok()?;
        keys.sign_text(tenant, &format!("{}\n{body}\n", first_line::<Self>(tenant)))
    }

    /// What a note says about this tenant's log, signed with one of these keys.
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

/// Entries at the beginning of the log were removed, because their retention was over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Removal {
    /// The first place that this removal removed.
    pub from: u64,
    /// The first place that stays.
    pub before: u64,
    /// The root of the tree over all places before that one, in base64.
    pub root: String,
    /// The time of the newest entry that was removed.
    pub newest: Timestamp,
    /// Days that entries were kept when this was declared.
    pub days: u32,
    /// When it was declared.
    pub at: Timestamp,
}

impl Statement for Removal {
    const KIND: &'static str = "removal";
}

/// How long entries are kept from a time on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retention {
    /// Days; `None`: for ever.
    pub days: Option<u32>,
    /// From when on.
    pub at: Timestamp,
}

impl Statement for Retention {
    const KIND: &'static str = "retention";
}

/// Entries from this place on have a MAC. Those before it were sealed by a version that made none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MacStart {
    /// The first place whose entry must have a MAC.
    pub from: u64,
}

impl Statement for MacStart {
    const KIND: &'static str = "macs";
}
