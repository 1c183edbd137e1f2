//! The error type of all storage.

use std::{error::Error, fmt, time::Duration};

/// The result of a storage operation.
pub type StoreResult<T> = Result<T, StoreError>;

/// A unique key of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UniqueKey {
    /// The name of a user (`userName`, RFC 7643 §4.1.1).
    UserName,
    /// The address that a user signs in with.
    SignInEmail,
    /// The name of a group (`displayName`, RFC 7643 §4.2).
    GroupName,
    /// Another key, by its name in the store.
    Other(String),
}

impl fmt::Display for UniqueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UserName => "the name of a user",
            Self::SignInEmail => "the sign-in address of a user",
            Self::GroupName => "the name of a group",
            Self::Other(name) => name,
        })
    }
}

/// The reason why a storage operation failed. A missing row is no error: it is `Ok(None)`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database is unreachable or overloaded, or chose this transaction to resolve a deadlock. A retry may
    /// succeed.
    #[error("the database is unavailable: {0}")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// A unique key is taken. The whole unit of work is rolled back.
    #[error("a unique key is already taken: {0}")]
    Taken(UniqueKey),
    /// The database rejected a statement.
    #[error("the database rejected a statement: {0}")]
    Database(#[source] Box<dyn Error + Send + Sync>),
    /// A stored value does not fit its type.
    #[error("a stored value cannot be read: {0}")]
    Corrupt(String),
    /// A scan exceeded its time limit. A smaller query may succeed; the same query will not.
    #[error("the scan was stopped at its deadline of {0:?}")]
    ScanTooLong(Duration),
    /// The tenant has reached its limit of concurrent work. A retry may succeed.
    #[error("the tenant already runs too many {0}")]
    TenantBusy(&'static str),
    /// The unit of work panicked or awaited something other than storage. It was rolled back.
    #[error("the unit of work was rolled back: {0}")]
    Aborted(&'static str),
}
