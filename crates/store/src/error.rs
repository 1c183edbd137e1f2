//! From diesel's errors to ours.

use diesel::result::{DatabaseErrorKind, Error};
use kernel::StoreError;

/// What the text of an error says when trying again later is worth it: diesel has no kind for these.
const PASSING: [&str; 9] = [
    "deadlock detected",
    "canceling statement due to",
    "terminating connection due to",
    "the database system is",
    "connection closed",
    "database is locked",
    "database or disk is full",
    "disk I/O error",
    "idle-in-transaction timeout",
];

/// What the error means to an area.
pub(crate) fn store_error(error: Error) -> StoreError {
    match &error {
        Error::DatabaseError(DatabaseErrorKind::UniqueViolation, info) => {
            StoreError::Taken(info.constraint_name().unwrap_or_else(|| info.message()).to_owned())
        }
        Error::DatabaseError(
            DatabaseErrorKind::ClosedConnection
            | DatabaseErrorKind::SerializationFailure
            | DatabaseErrorKind::UnableToSendCommand
            | DatabaseErrorKind::ReadOnlyTransaction,
            _,
        )
        | Error::BrokenTransactionManager => StoreError::Unavailable(Box::new(error)),
        Error::DatabaseError(_, info) if PASSING.iter().any(|words| info.message().contains(words)) => {
            StoreError::Unavailable(Box::new(error))
        }
        Error::DeserializationError(_) => StoreError::Corrupt(error.to_string()),
        _ => StoreError::Database(Box::new(error)),
    }
}

/// A stored value of a closed set that is not in it.
pub(crate) fn corrupt(column: &str, error: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("{column}: {error}"))
}
