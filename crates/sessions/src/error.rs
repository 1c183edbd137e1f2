//! The reasons for refusing to revoke a session.

use kernel::StoreError;

/// The reason why a session was not revoked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user has no session with this id.
    #[error("there is no such session")]
    NotFound,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
