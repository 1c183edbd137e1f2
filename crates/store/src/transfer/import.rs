//! Imports a tenant.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Seek, SeekFrom},
};

use kernel::{MasterKeys, SigningKeys, TenantId, Timestamp};

use super::{
    SALTS, TransferError, TransferredTable, condition,
    file::{Line, PURPOSE, Reader},
    key_ids::KeyIds,
};
use crate::{
    DatabaseUrl,
    rows::{
        digest::Digest,
        side::Side,
        tables::{Row, Table},
    },
};

/// Rows that one statement inserts.
const BATCH: usize = 500;

/// A completed import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The tenant.
    pub tenant: TenantId,
    /// Its short name.
    pub slug: String,
    /// When it was exported.
    pub exported_at: Timestamp,
    /// All tables of the file in alphabetical order.
    pub tables: Vec<TransferredTable>,
}

/// Inserts the tenant of a file in one transaction, after its signature has been verified.
pub async fn import_tenant(
    to: &DatabaseUrl,
    masters: &MasterKeys,
    mut file: File,
) -> Result<Imported, TransferError> {
    if !to.may_exist() {
        return Err(TransferError::Missing);
    }
    if Side::is_behind(to).await? {
        return Err(TransferError::Behind);
    }
    let keys = SigningKeys::derive(masters, PURPOSE);
    if keys.newest().is_none() {
        return Err(TransferError::NoKey);
    }
    let mut checked = Reader::new(BufReader::new(&file), &keys)?;
    while checked.next()?.is_some() {}
    file.seek(SeekFrom::Start(0))?;

    let mut target = Side::open(to).await?;
    let tables = target.tables().await?;
    target.begin_change().await?;
    // Verified once more while it is read, because somebody may have exchanged the file.
    let reader = Reader::new(BufReader::new(file), &keys)?;
    let imported = Import::new(reader, &keys, &tables, &mut target).run().await?;
    target.commit().await?;
    target.analyze().await;
    Ok(imported)
}

/// The rows of a table that are not inserted yet.
struct Batch<'t> {
    table: &'t Table,
    rows: Vec<Row>,
}

struct Import<'t, R> {
    reader: R,
    keys: &'t SigningKeys,
    tables: &'t [Table],
    target: &'t mut Side,
    digests: BTreeMap<String, Digest>,
}

impl<'t> Import<'t, Reader<'t, BufReader<File>>> {
    fn new(
        reader: Reader<'t, BufReader<File>>,
        keys: &'t SigningKeys,
        tables: &'t [Table],
        target: &'t mut Side,
    ) -> Self {
        Self { reader, keys, tables, target, digests: BTreeMap::new() }
    }

    async fn run(mut self) -> Result<Imported, TransferError> {
        let header = self.reader.header.clone();
        let tenants = format!("SELECT 1 FROM tenants WHERE id = '{}'", header.tenant);
        if self.target.exists(&tenants).await? {
            return Err(TransferError::Exists);
        }
        let mut batch: Option<Batch<'t>> = None;
        while let Some(line) = self.reader.next()? {
            match (line, &mut batch) {
                (Line::Table { name, columns }, _) => {
                    self.insert(batch.take()).await?;
                    batch = Some(Batch { table: self.table(&name, &columns)?, rows: Vec::new() });
                    self.digests.insert(name, Digest::default());
                }
                (Line::Row(row), Some(Batch { table, rows })) => {
                    rows.push(row);
                    if rows.len() == BATCH {
                        let full = Batch { table, rows: std::mem::take(rows) };
                        self.insert(Some(full)).await?;
                    }
                }
                (Line::Row(_), None) => return Err(TransferError::Format(2)),
            }
        }
        self.insert(batch).await?;
        self.compare(&header.tenant).await?;
        let table =
            |(name, digest): (&String, &Digest)| TransferredTable { name: name.clone(), rows: digest.rows };
        Ok(Imported {
            tables: self.digests.iter().map(table).collect(),
            tenant: header.tenant,
            slug: header.slug,
            exported_at: header.exported_at,
        })
    }

    /// Returns the table of this database with this name and these columns.
    fn table(&self, name: &str, columns: &[String]) -> Result<&'t Table, TransferError> {
        let known = self
            .tables
            .iter()
            .find(|table| table.name == name && table.columns.iter().map(|column| &column.name).eq(columns));
        known.ok_or_else(|| TransferError::Schema(name.to_owned()))
    }

    async fn insert(&mut self, batch: Option<Batch<'_>>) -> Result<(), TransferError> {
        let Some(Batch { table, mut rows }) = batch.filter(|batch| !batch.rows.is_empty()) else {
            return Ok(());
        };
        if rows.iter().any(|row| row.len() != table.columns.len()) {
            return Err(TransferError::Schema(table.name.clone()));
        }
        let ids = KeyIds { shared: &self.reader.shared, is_used: &|id| self.keys.knows(id) };
        for row in &mut rows {
            ids.replace(table, row)?;
        }
        self.refuse_conflicts(table, &rows).await?;
        if let Some(digest) = self.digests.get_mut(&table.name) {
            digest.add(table, &rows)?;
        }
        // A sign-in address that is known here keeps its salt. The imported passwords still verify, because each
        // hash contains its own salt.
        let is_shared = table.name == SALTS;
        Ok(self.target.insert(table, rows, is_shared).await?)
    }

    /// Names a short name or an email domain that belongs to another tenant here.
    async fn refuse_conflicts(&mut self, table: &Table, rows: &[Row]) -> Result<(), TransferError> {
        let (column, conflict): (_, fn(String) -> TransferError) = match table.name.as_str() {
            "tenants" => ("slug", TransferError::Slug),
            "verified_domains" => ("domain", TransferError::Domain),
            _ => return Ok(()),
        };
        let Some(at) = table.columns.iter().position(|known| known.name == column) else {
            return Err(TransferError::Schema(table.name.clone()));
        };
        for value in rows.iter().filter_map(|row| row.get(at)?.as_deref()) {
            if self.target.has_value(table, column, value).await? {
                return Err(conflict(value.to_owned()));
            }
        }
        Ok(())
    }

    /// Reads all rows back.
    async fn compare(&mut self, tenant: &TenantId) -> Result<(), TransferError> {
        for table in self.tables {
            let (Some(condition), Some(before)) = (condition(table, tenant), self.digests.get(&table.name))
            else {
                continue;
            };
            let mut after = Digest::default();
            let select = table.select_where(self.target.dialect(), &condition);
            let add = async |rows: Vec<Row>| Ok(after.add(table, &rows)?);
            self.target.each_batch(&select, TransferError::Store, add).await?;
            if *before != after {
                return Err(TransferError::Differs(table.name.clone()));
            }
        }
        Ok(())
    }
}
