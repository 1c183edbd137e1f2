//! Copies a database to another one, row for row: from SQLite to PostgreSQL, back, or to a distributed database.
//!
//! While a copy runs, and as long as its [`Copied`] lives, the source answers reads and refuses changes. The copy is
//! committed only if both databases have the same rows.

mod error;

use audit::EntryKeys;
use kernel::StoreError;

pub use self::error::CopyError;
use crate::{
    DatabaseUrl, Store,
    rows::{
        digest::Digest,
        side::Side,
        tables::{self, Row, Table},
    },
};

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
    source: Side,
}

impl Copied {
    /// Checks that the source still refuses changes: a lost connection ends its locks. Must be called every few
    /// minutes, because after ten without a call the source assumes that this program is gone.
    pub async fn still_holds(&mut self) -> Result<(), CopyError> {
        self.source.check().await.map_err(CopyError::Released)
    }
}

/// Copies all rows to an empty database, which is migrated first. Nothing else may use the target meanwhile.
pub async fn copy(from: &DatabaseUrl, to: &DatabaseUrl) -> Result<Copied, CopyError> {
    if from == to {
        return Err(CopyError::Same);
    }
    if !from.may_exist() {
        return Err(CopyError::Missing);
    }
    if Side::is_behind(from).await.map_err(CopyError::Source)? {
        return Err(CopyError::Behind);
    }
    // Before a database that is not the right one is migrated.
    refuse_any_rows(to).await?;
    migrate(to).await.map_err(CopyError::Target)?;
    let mut source = Side::open(from).await.map_err(CopyError::Source)?;
    let mut target = Side::open(to).await.map_err(CopyError::Target)?;
    let tables = source.tables().await.map_err(CopyError::Source)?;
    let others = target.tables().await.map_err(CopyError::Target)?;
    if let Some(table) = tables::difference(&tables, &others) {
        return Err(CopyError::Schema(table));
    }
    source.begin(&tables).await.map_err(CopyError::Source)?;
    target.begin(&tables).await.map_err(CopyError::Target)?;
    refuse_rows(&mut target, &tables).await?;
    let (read, written) = (source.dialect(), target.dialect());
    let mut copied = Vec::new();
    for table in tables::referenced_first(&tables) {
        let mut before = Digest::default();
        source
            .each_batch(&table.select(read), CopyError::Source, async |rows| {
                before.add(table, &rows).map_err(CopyError::Source)?;
                target.insert(table, rows, false).await.map_err(CopyError::Target)
            })
            .await?;
        let mut after = Digest::default();
        let add = async |rows: Vec<Row>| {
            source.check().await.map_err(CopyError::Source)?;
            after.add(table, &rows).map_err(CopyError::Target)
        };
        target.each_batch(&table.select(written), CopyError::Target, add).await?;
        if before != after {
            return Err(CopyError::Differs(table.name.clone()));
        }
        let (rows, digest) = (before.rows, before.to_string());
        copied.push(CopiedTable { name: table.name.clone(), rows, digest });
    }
    target.commit().await.map_err(CopyError::Target)?;
    target.analyze().await;
    copied.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Copied { tables: copied, source })
}

async fn refuse_any_rows(url: &DatabaseUrl) -> Result<(), CopyError> {
    if !url.may_exist() {
        return Ok(());
    }
    let mut side = Side::open(url).await.map_err(CopyError::Target)?;
    let tables = side.tables().await.map_err(CopyError::Target)?;
    refuse_rows(&mut side, &tables).await
}

async fn refuse_rows(target: &mut Side, tables: &[Table]) -> Result<(), CopyError> {
    for table in tables {
        if target.has_rows(table).await.map_err(CopyError::Target)? {
            return Err(CopyError::NotEmpty(table.name.clone()));
        }
    }
    Ok(())
}

async fn migrate(url: &DatabaseUrl) -> Result<(), StoreError> {
    Store::open(url, 1, EntryKeys::none())?.migrate().await?;
    Ok(())
}
