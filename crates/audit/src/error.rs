//! Errors of searches, checkpoints and exports.

use crate::MAX_CODES;
use crate::MAX_TEXT;
use std::io;

/// Why a search filter is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
}

/// Why a note is not a valid signed checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
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
