//! Converts diesel's errors to ours.

use diesel::result::{DatabaseErrorKind, Error};
use kernel::{StoreError, UniqueKey};

/// Texts of errors that may pass if retried. Diesel has no error kind for these.
const TRANSIENT: [&str; 16] = [
    "deadlock detected",
    "canceling statement due to",
    "terminating connection due to",
    "the database system is",
    "connection closed",
    "database is locked",
    "database or disk is full",
    // PostgreSQL's disk or shared memory is full.
    "No space left on device",
    "wrote only ",
    "disk I/O error",
    "idle-in-transaction timeout",
    // A node of a distributed database.
    "connection to the remote node",
    "failure on connection marked as essential",
    "could not commit transaction for shard",
    "distributed deadlock",
    "server closed the connection unexpectedly",
];

/// Converts a database error to a [`StoreError`].
pub(crate) fn store_error(error: Error) -> StoreError {
    match &error {
        Error::DatabaseError(DatabaseErrorKind::UniqueViolation, info) => {
            StoreError::Taken(unique_key(info.constraint_name().unwrap_or_else(|| info.message())))
        }
        Error::DatabaseError(
            DatabaseErrorKind::ClosedConnection
            | DatabaseErrorKind::SerializationFailure
            | DatabaseErrorKind::UnableToSendCommand
            | DatabaseErrorKind::ReadOnlyTransaction,
            _,
        )
        | Error::BrokenTransactionManager => StoreError::Unavailable(Box::new(error)),
        Error::DatabaseError(_, info) if TRANSIENT.iter().any(|words| info.message().contains(words)) => {
            StoreError::Unavailable(Box::new(error))
        }
        Error::DeserializationError(_) => StoreError::Corrupt(error.to_string()),
        _ => StoreError::Database(Box::new(error)),
    }
}

/// Returns the key of a unique index: PostgreSQL names the index, SQLite its columns.
fn unique_key(index: &str) -> UniqueKey {
    if index.contains("sign_in_email") {
        UniqueKey::SignInEmail
    } else if index == "users_user_name" || index.contains("users.user_name_key") {
        UniqueKey::UserName
    } else if index == "groups_display_name" || index.contains("groups.display_name_key") {
        UniqueKey::GroupName
    } else {
        UniqueKey::Other(index.to_owned())
    }
}

/// Returns the error for a stored value that is invalid.
pub(crate) fn corrupt(column: &str, error: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("{column}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(message: &str) -> StoreError {
        store_error(Error::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message.to_owned())))
    }

    #[test]
    fn errors_that_may_pass_are_unavailability() {
        for message in [
            r#"could not extend file "base/5/16424": No space left on device"#,
            r#"could not extend file "base/5/16424": wrote only 4096 of 8192 bytes at block 7"#,
            "canceling statement due to lock timeout",
        ] {
            assert!(matches!(converted(message), StoreError::Unavailable(_)), "{message}");
        }
        let broken = converted(r#"relation "users" does not exist"#);
        assert!(matches!(broken, StoreError::Database(_)), "{broken}");
    }
}
