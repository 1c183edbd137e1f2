//! Errors of searches, checkpoints and exports.

use crate::MAX_CODES;
use crate::MAX_TEXT;
use std::io;

use kernel::StoreError;

/// Why a search filter is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// `action` is not a list of codes and prefixes.
    #[error("{0:?} is neither an event code nor a prefix followed by *")]
    Action(String),
    /// Too many codes.
    #[error("write at most {MAX_CODES} codes")]
    Actions,
    /// The text is too long.
    #[error("write at most {MAX_TEXT} characters")]
    Text,
    /// A time is malformed.
    #[error("write a time such as 2026-01-31T09:30:00Z")]
    Time,
    /// A value contains U+0000, which databases do not store.
    #[error("must not contain the character U+0000")]
    Nul,
}

impl FilterError {
    /// Returns the error of a query parameter.
    pub(crate) fn of(&self, name: &'static str) -> InvalidParameter {
        InvalidParameter::new(name, self.to_string())
    }
}

/// A query parameter is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {problem}")]
pub struct InvalidParameter {
    name: &'static str,
    problem: String,
}

impl InvalidParameter {
    pub(crate) fn new(name: &'static str, problem: impl Into<String>) -> Self {
        Self { name, problem: problem.into() }
    }
}

/// Why a page of a search cannot be returned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The cursor belongs to another search.
    #[error("the cursor is not valid for this search")]
    Cursor,
    /// A stored payload is not JSON.
    #[error("{0}")]
    Payload(#[from] serde_json::Error),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a checkpoint or a proof cannot be returned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// The log is empty.
    #[error("nothing is sealed yet; entries are sealed within a second")]
    NothingSealed,
    /// The audit log has no such entry, or it was purged.
    #[error("no such entry in this tenant's audit log")]
    NoEntry,
    /// The log has no such tile yet, or its hashes were purged.
    #[error("the log has no such tile; its hashes may have been purged")]
    NoTile,
    /// The entry is not in the log of the newest checkpoint.
    #[error("this entry is not sealed yet; try again in a second")]
    NotSealed,
    /// Too few hashes are stored for the proof.
    #[error("entries before that size were purged; use a larger size")]
    Purged,
    /// The sizes are not in order, or larger than the log of this size.
    #[error("from, to: must be sizes in ascending order, at most {0}, the size of the log")]
    Sizes(u64),
    /// The newest checkpoint does not verify.
    #[error("the newest checkpoint is invalid ({0}); run gatehouse audit verify")]
    Checkpoint(#[from] NoteError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a note is not a valid signed checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// The note is malformed.
    #[error("not a checkpoint")]
    Malformed,
    /// The note has no signature of a known key.
    #[error("not signed with a known key")]
    UnknownKey,
    /// The signature is invalid.
    #[error("the signature is invalid")]
    Signature,
}

/// Why an export cannot be verified at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// The first line is no checkpoint, because the export was made without proofs.
    #[error("the first line is not a checkpoint; export with format=ndjson&proofs=true")]
    NoCheckpoint,
    /// The checkpoint's signature is invalid.
    #[error("invalid checkpoint: {0}")]
    Note(#[from] NoteError),
}
