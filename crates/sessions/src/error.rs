//! Why nothing was done.

use kernel::StoreError;

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No session of this id is the person's.
    #[error("no such session")]
    NotFound,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
