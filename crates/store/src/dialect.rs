//! The SQL dialects of the supported databases.

/// The functions and operators that differ between databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Postgres,
    Sqlite,
}
