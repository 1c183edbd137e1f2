//! Why a copy fails.

use kernel::StoreError;

/// Why a database was not copied. Nothing is left in the target but its schema, unless its answer to the commit was lost.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source is an SQLite file that does not exist.
    #[error("the database does not exist")]
    Missing,
    /// Source and target are one database, as far as their URLs tell.
    #[error("both URLs name the same database")]
    Same,
    /// The schema of the source is older than this program.
    #[error("the schema of the source is older than this program: run gatehouse migrate there first")]
    Behind,
    /// A table of the target has rows.
    #[error("the target is not empty: its table {0} has rows")]
    NotEmpty(String),
    /// A table exists only on one side, or has other columns there.
    #[error("the table {0} differs between source and target")]
    Schema(String),
    /// After the copy, the rows of a table differ.
    #[error("the rows of table {0} differ after the copy, so it was undone")]
    Differs(String),
    /// The source has accepted changes since the copy.
    #[error("the source may have accepted changes since the copy: do not use the copy, start again ({0})")]
    Released(#[source] StoreError),
    /// The source failed.
    #[error("the source: {0}")]
    Source(#[source] StoreError),
    /// The target failed.
    #[error("the target: {0}")]
    Target(#[source] StoreError),
}
