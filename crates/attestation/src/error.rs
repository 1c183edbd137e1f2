//! Why a policy stays as it is.

use kernel::StoreError;

use crate::change::MAX_MODELS;

/// Why a policy stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It names more makes than may be.
    #[error("{MAX_MODELS} makes at most")]
    TooMany,
    /// What is stored could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}
