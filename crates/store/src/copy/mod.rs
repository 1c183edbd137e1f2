//! Copies a database to another one, row for row: from SQLite to PostgreSQL, back, or to a distributed database.
//!
//! While a copy runs, and as long as its [`Copied`] lives, the source answers reads and refuses changes. The copy is
//! committed only if both databases have the same rows.

mod digest;
mod side;
mod tables;

use audit::EntryKeys;
use kernel::StoreError;

use self::{digest::Digest, side::Side, tables::Row};
use crate::{DatabaseUrl, Store};

/// Why a database was not copied. Nothing is left in the target but its schema.
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
    /// The source failed.
    #[error("the source: {0}")]
    Source(#[source] StoreError),
    /// The target failed.
    #[error("the target: {0}")]
    Target(#[source] StoreError),
}

/// A copied table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedTable {
    /// Its name.
    pub name: String,
    /// Number of its rows.
    pub rows: u64,
    /// The sum of the SHA-256 of its rows modulo 2^256, in hexadecimal. Equal on both databases, and independent of
    /// the order of rows.
    pub digest: String,
}

/// A completed copy. The source refuses changes until this is dropped.
pub struct Copied {
    /// All tables in alphabetical order.
    pub tables: Vec<CopiedTable>,
    _source: Side,
}

/// Copies all rows to an empty database, which is migrated first. Nothing else may use the target meanwhile.
pub async fn copy(from: &DatabaseUrl, to: &DatabaseUrl) -> Result<Copied, CopyError> {
    if from == to {
        return Err(CopyError::Same);
    }
    if !from.may_exist() {
        return Err(CopyError::Missing);
    }
    if open(from).map_err(CopyError::Source)?.is_behind().await.map_err(CopyError::Source)? {
        return Err(CopyError::Behind);
    }
    open(to).map_err(CopyError::Target)?.migrate().await.map_err(CopyError::Target)?;
    let mut source = Side::open(from).await.map_err(CopyError::Source)?;
    let mut target = Side::open(to).await.map_err(CopyError::Target)?;
    let tables = source.tables().await.map_err(CopyError::Source)?;
    let others = target.tables().await.map_err(CopyError::Target)?;
    if let Some(table) = tables::difference(&tables, &others) {
        return Err(CopyError::Schema(table));
    }
    source.begin(&tables).await.map_err(CopyError::Source)?;
    target.begin(&tables).await.map_err(CopyError::Target)?;
    for table in &tables {
        if target.has_rows(table).await.map_err(CopyError::Target)? {
            return Err(CopyError::NotEmpty(table.name.clone()));
        }
    }
    let mut copied = Vec::new();
    for table in tables::referenced_first(&tables) {
        let mut before = Digest::default();
        source
            .each_batch(table, CopyError::Source, async |rows| {
                before.add(table, &rows).map_err(CopyError::Source)?;
                target.insert(table, rows).await.map_err(CopyError::Target)
            })
            .await?;
        let mut after = Digest::default();
        let add = async |rows: Vec<Row>| after.add(table, &rows).map_err(CopyError::Target);
        target.each_batch(table, CopyError::Target, add).await?;
        if before != after {
            return Err(CopyError::Differs(table.name.clone()));
        }
        let (rows, digest) = (before.rows, before.to_string());
        copied.push(CopiedTable { name: table.name.clone(), rows, digest });
    }
    target.commit().await.map_err(CopyError::Target)?;
    copied.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Copied { tables: copied, _source: source })
}

fn open(url: &DatabaseUrl) -> Result<Store, StoreError> {
    Store::open(url, 1, EntryKeys::none())
}
