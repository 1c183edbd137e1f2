//! Imports a tenant.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Seek, SeekFrom},
};

use kernel::{MasterKeys, TenantId, Timestamp};

use super::{
    SALTS, TransferError, TransferredTable, condition,
    file::{Line, Reader},
    key_ids::KeyIds,
    signing_keys, tenant_column,
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
    /// The ids here of master keys that the source has retired, by those at the source. Entries that were written with one
    /// verify only if it is named as retired.
    pub retired_keys: BTreeMap<String, String>,
}

/// Inserts the tenant of a file in one transaction, after its signature has been verified.
pub async fn import_tenant(
    to: &DatabaseUrl,
    masters: &MasterKeys,
    mut file: File,
) -> Result<Imported, TransferError> {
    let keys = signing_keys(to, masters).await?;
    let mut checked = Reader::new(BufReader::new(&file), &keys)?;
    while checked.next()?.is_some() {}
    file.seek(SeekFrom::Start(0))?;

    let mut target = Side::open(to).await?;
    let tables = target.tables().await?;
    target.begin_change().await?;
    // Verified once more while it is read, because somebody may have exchanged the file.
    let reader = Reader::new(BufReader::new(file), &keys)?;
    let imported = Import::new(reader, &tables, &mut target).run().await?;
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
    key_ids: KeyIds,
    tables: &'t [Table],
    target: &'t mut Side,
    digests: BTreeMap<String, Digest>,
}

impl<'t> Import<'t, Reader<'t, BufReader<File>>> {
    fn new(reader: Reader<'t, BufReader<File>>, tables: &'t [Table], target: &'t mut Side) -> Self {
        let key_ids = KeyIds::new(reader.header.clone(), reader.shared.clone());
        Self { reader, key_ids, tables, target, digests: BTreeMap::new() }
    }

    async fn run(mut self) -> Result<Imported, TransferError> {
        let header = self.reader.header.clone();
        let here = self.target.newest_migration().await?;
        if header.schema != here {
            return Err(TransferError::Version { file: header.schema, here });
        }
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
                (Line::Row(_), None) => return Err(TransferError::Format(self.reader.line)),
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
            retired_keys: self.key_ids.retired,
        })
    }

    /// Returns the table of this database with this name and these columns, if a file may contain it once more.
    fn table(&self, name: &str, columns: &[String]) -> Result<&'t Table, TransferError> {
        let is_known = |table: &&Table| {
            table.name == name
                && (name == SALTS || tenant_column(table).is_some())
                && table.columns.iter().map(|column| &column.name).eq(columns)
        };
        let known = self.tables.iter().find(is_known).filter(|_| !self.digests.contains_key(name));
        known.ok_or_else(|| TransferError::Schema(name.to_owned()))
    }

    async fn insert(&mut self, batch: Option<Batch<'_>>) -> Result<(), TransferError> {
        let Some(Batch { table, mut rows }) = batch.filter(|batch| !batch.rows.is_empty()) else {
            return Ok(());
        };
        let of_tenant = tenant_column(table)
            .and_then(|tenant| table.columns.iter().position(|column| column.name == tenant));
        for row in &mut rows {
            if row.len() != table.columns.len() {
                return Err(TransferError::Schema(table.name.clone()));
            }
            let tenant = of_tenant.and_then(|at| row.get(at));
            if tenant.is_some_and(|tenant| tenant.as_deref() != Some(self.reader.header.tenant.as_str())) {
                return Err(TransferError::OtherTenant(table.name.clone()));
            }
            self.key_ids.replace(table, row)?;
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
            "tenants" | "tenant_slugs" => ("slug", TransferError::Slug),
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

    /// Reads all rows back. All tables with a tenant have to be in the file.
    async fn compare(&mut self, tenant: &TenantId) -> Result<(), TransferError> {
        for table in self.tables {
            let Some(condition) = condition(table, tenant) else { continue };
            let missing = || TransferError::Schema(table.name.clone());
            let before = self.digests.get(&table.name).ok_or_else(missing)?;
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

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use audit::EntryKeys;
    use kernel::{Secret, SigningKeys, SystemEnv};

    use super::*;
    use crate::{
        Store,
        transfer::file::{Header, PURPOSE, Writer},
    };

    /// An empty database, and what a file for it needs.
    struct Target {
        folder: PathBuf,
        url: DatabaseUrl,
        masters: MasterKeys,
        tables: Vec<Table>,
        schema: String,
    }

    impl Target {
        async fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("gatehouse-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let url: DatabaseUrl = format!("sqlite:{}", folder.join("test.db").display()).parse().unwrap();
            Store::open(&url, 1, EntryKeys::none()).unwrap().migrate().await.unwrap();
            let mut side = Side::open(&url).await.unwrap();
            let (tables, schema) = (side.tables().await.unwrap(), side.newest_migration().await.unwrap());
            let masters = MasterKeys::new(vec![("1".to_owned(), Secret::new(vec![7; 32]))]).unwrap();
            Self { folder, url, masters, tables, schema }
        }

        /// Imports a signed file with these sections.
        async fn import(
            &self,
            tenant: &TenantId,
            schema: &str,
            sections: &[(&str, Vec<Row>)],
        ) -> Result<Imported, TransferError> {
            let keys = SigningKeys::derive(&self.masters, PURPOSE);
            let now = "2026-01-01T00:00:00.000Z".parse().unwrap();
            let header = Header::new((tenant, "acme"), schema.to_owned(), now, &keys);
            let path = self.folder.join("file");
            let mut writer = Writer::new(File::create(&path).unwrap(), &header).unwrap();
            for (name, rows) in sections {
                let columns = self.table(name).columns.iter().map(|column| column.name.clone()).collect();
                writer.table(name, columns).unwrap();
                writer.rows(rows).unwrap();
            }
            writer.finish(&keys).unwrap();
            import_tenant(&self.url, &self.masters, File::open(Path::new(&path)).unwrap()).await
        }

        fn table(&self, name: &str) -> &Table {
            self.tables.iter().find(|table| table.name == name).unwrap()
        }

        /// Returns a row whose columns contain a text, apart from the tenant.
        fn row(&self, name: &str, tenant: &TenantId) -> Row {
            let value = |column: &str| if column == "tenant_id" { tenant.to_string() } else { "x".into() };
            self.table(name).columns.iter().map(|column| Some(value(&column.name))).collect()
        }
    }

    #[tokio::test]
    async fn signed_file_changes_only_its_own_tenant() {
        let target = Target::new("own-tenant").await;
        let env = SystemEnv::default();
        let [own, other] = [TenantId::new(&env), TenantId::new(&env)];
        let rows = |name: &str, tenant: &TenantId| vec![target.row(name, tenant)];
        let schema = target.schema.as_str();
        for (schema, sections, expected) in [
            (schema, vec![("tenant_slugs", rows("tenant_slugs", &other))], "has a row of another tenant"),
            (schema, vec![("attempts", rows("attempts", &own))], "table attempts of the file differs"),
            (schema, vec![("tickets", rows("tickets", &own))], "table tickets of the file differs"),
            (schema, vec![("notices", Vec::new()), ("notices", rows("notices", &own))], "table notices of"),
            (schema, vec![("notices", rows("notices", &own))], "of the file differs from the one here"),
            ("00001", Vec::new(), "the file has the schema 00001"),
        ] {
            let refused = target.import(&own, schema, &sections).await.unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        }
        let mut side = Side::open(&target.url).await.unwrap();
        for name in ["tenant_slugs", "attempts", "tickets", "notices"] {
            assert!(!side.has_rows(target.table(name)).await.unwrap(), "{name}");
        }
        std::fs::remove_dir_all(&target.folder).unwrap();
    }
}
