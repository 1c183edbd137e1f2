//! Why a search, a checkpoint or an export is not read.

use crate::MAX_CODES;
use crate::MAX_TEXT;
use std::io;

/// What is looked for in `action` is not written as it has to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// Not a list of codes and prefixes.
    #[error("{0:?} is neither a code nor a beginning of codes with * at its end")]
    Action(String),
    /// More codes than are looked for at once.
    #[error("{MAX_CODES} codes at most")]
    Actions,
    /// Too long to be looked for.
    #[error("{MAX_TEXT} characters at most")]
    Text,
}

/// Why a note is no checkpoint that somebody has signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// Not written as a note.
    #[error("not a checkpoint")]
    Malformed,
    /// No signature by a key that is asked for.
    #[error("not signed with a key that is known")]
    UnknownKey,
    /// A signature that is none.
    #[error("the signature is wrong")]
    Signature,
}

/// Why an export cannot be verified at all.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// Its first line is no checkpoint: it was made without proofs.
    #[error("the first line is no checkpoint: export with format=ndjson&proofs=true")]
    NoCheckpoint,
    /// The checkpoint is not signed as it should be.
    #[error("the checkpoint: {0}")]
    Note(#[from] NoteError),
}
