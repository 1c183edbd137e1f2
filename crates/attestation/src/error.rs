//! The reasons for refusing a change to a policy.

use kernel::StoreError;

use crate::change::MAX_MODELS;

/// The reason why a policy was not changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The policy names too many models.
    #[error("write at most {MAX_MODELS} models")]
    TooMany,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
