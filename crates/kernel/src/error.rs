//! The one error that storage answers with.

use std::{error::Error, time::Duration};

/// What storage answers.
pub type StoreResult<T> = Result<T, StoreError>;

/// Why storage could not do what it was asked. "Not found" is not among them: that is `Ok(None)`.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached, is overloaded, or chose this work to resolve a deadlock. Worth trying again.
    #[error("the database is not available: {0}")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// A unique key is taken; the whole unit of work is lost.
    #[error("a unique key is already taken: {0}")]
    Taken(String),
    /// The database refused a statement.
    #[error("the database refused a statement: {0}")]
    Database(#[source] Box<dyn Error + Send + Sync>),
    /// A stored value does not fit the type it is read as.
    #[error("a stored value cannot be read: {0}")]
    Corrupt(String),
    /// A scan took longer than it may and was stopped. Asking for less is worth it, asking again is not.
    #[error("the scan was stopped at its deadline of {0:?}")]
    ScanTooLong(Duration),
    /// The tenant has as much of this work under way as it may. Worth trying again.
    #[error("the tenant has too many {0} under way")]
    TenantBusy(&'static str),
    /// The unit of work panicked or waited for something other than storage; it was rolled back.
    #[error("the unit of work was rolled back: {0}")]
    Aborted(&'static str),
}
