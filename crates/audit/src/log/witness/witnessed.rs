//! What a witness knows of a log, and which checkpoints it may cosign.

use crate::{
    error::NoteError,
    log::{Checkpoint, CheckpointKey, Frontier, Hash, verify_consistency},
};

/// The newest checkpoint of a log that a witness has cosigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessedLog {
    keys: Vec<CheckpointKey>,
    newest: Option<Checkpoint>,
}

/// A checkpoint that a witness may cosign, once it has stored it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advance {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Its note with the signatures of the log alone. Other lines are the server's, and not verified.
    pub note: String,
}

/// Why a witness does not cosign a checkpoint. [`WitnessError::Forked`] proves that the log was changed. A log that was
/// rolled back may be an old copy, and one that is not proved to have grown may lack hashes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WitnessError {
    /// The checkpoint is not signed by a key of the log.
    #[error("the checkpoint is invalid: {0}")]
    Note(#[from] NoteError),
    /// The checkpoint is of another log.
    #[error("the checkpoint is of the log {0}")]
    Origin(String),
    /// The proof starts at another size than that of the newest cosigned checkpoint.
    #[error("the newest cosigned checkpoint has size {0}")]
    OldSize(u64),
    /// The log is shorter than the newest cosigned checkpoint.
    #[error("the log was rolled back: it has {size} entries, and had {known}")]
    RolledBack {
        /// Size of the checkpoint.
        size: u64,
        /// Size of the newest cosigned checkpoint.
        known: u64,
    },
    /// The log of this size has another root than the cosigned one.
    #[error("the log was forked: two checkpoints of size {0} differ")]
    Forked(u64),
    /// The proof does not show that the log extends the newest cosigned one.
    #[error("nothing proves that the log of size {size} extends the log of size {known}")]
    Unproved {
        /// Size of the checkpoint.
        size: u64,
        /// Size of the newest cosigned checkpoint.
        known: u64,
    },
}

impl WitnessedLog {
    /// Creates the state of a log with these keys, which have one name. `newest` is the newest cosigned checkpoint.
    pub fn new(keys: Vec<CheckpointKey>, newest: Option<Checkpoint>) -> Self {
        Self { keys, newest }
    }

    /// Returns the size of the newest cosigned checkpoint; 0 if none.
    pub fn size(&self) -> u64 {
        self.newest.as_ref().map_or(0, |newest| newest.size)
    }

    /// Returns the checkpoint of a note if a key of the log has signed it. Does not say whether the log grew.
    pub fn verified(&self, note: &str) -> Result<Advance, WitnessError> {
        let (checkpoint, note) = Checkpoint::with_verified_note(note, &self.keys)?;
        match &self.newest {
            Some(newest) if newest.origin != checkpoint.origin => {
                Err(WitnessError::Origin(checkpoint.origin))
            }
            _ => Ok(Advance { checkpoint, note }),
        }
    }

    /// Verifies that a checkpoint extends the newest cosigned one, by the consistency proof from `old_size`. Store the
    /// checkpoint before cosigning it, and let no other request in between.
    pub fn advance(&self, note: &str, old_size: u64, proof: &[Hash]) -> Result<Advance, WitnessError> {
        let Advance { checkpoint, note } = self.verified(note)?;
        let (size, known) = (checkpoint.size, self.size());
        if size < known {
            return Err(WitnessError::RolledBack { size, known });
        }
        let same_size = self.newest.as_ref().filter(|newest| newest.size == size);
        if same_size.is_some_and(|newest| newest.root != checkpoint.root) {
            return Err(WitnessError::Forked(size));
        }
        if old_size != known {
            return Err(WitnessError::OldSize(known));
        }
        let known_root =
            self.newest.as_ref().map_or_else(|| Frontier::default().root(), |newest| newest.root);
        let is_extension = verify_consistency((known, &known_root), (size, &checkpoint.root), proof);
        if is_extension {
            Ok(Advance { checkpoint, note })
        } else {
            Err(WitnessError::Unproved { size, known })
        }
    }
}
