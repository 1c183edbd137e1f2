//! Exports a tenant.

use std::io::Write;

use credentials::Salt;
use kernel::{MasterKeys, StoreError, TenantId, Timestamp};

use super::{
    SALTS, TransferError, TransferredTable, condition,
    file::{Header, Writer},
    signing_keys,
};
use crate::{
    DatabaseUrl,
    dialect::Dialect,
    rows::{
        side::Side,
        tables::{Kind, Row, Table, quoted, referenced_first},
    },
};

/// Salts that one query returns.
const SALTS_AT_ONCE: usize = 500;

/// The end of a lease of an instance of the source. No instance of the target is to wait for it.
const LEASE: (&str, &str) = ("lease_until", "1970-01-01 00:00:00");

/// A completed export. If the source was held, it refuses changes until this is dropped.
pub struct Exported {
    /// All tables of the file in alphabetical order.
    pub tables: Vec<TransferredTable>,
    source: Side,
}

impl Exported {
    /// Checks that a held source still refuses changes, like [`crate::Copied::still_holds`].
    pub async fn still_holds(&mut self) -> Result<(), StoreError> {
        self.source.check().await
    }
}

/// Writes a tenant to a file, as it is at one moment. With `hold`, the whole source refuses changes from then on; without,
/// changes during the export are not part of it.
pub async fn export_tenant(
    from: &DatabaseUrl,
    (tenant, slug): (&TenantId, &str),
    masters: &MasterKeys,
    now: Timestamp,
    hold: bool,
    to: impl Write,
) -> Result<Exported, TransferError> {
    let keys = signing_keys(from, masters).await?;
    let mut source = Side::open(from).await?;
    let tables = source.tables().await?;
    if hold {
        source.begin(&tables).await?;
    } else {
        source.begin_snapshot().await?;
    }
    let schema = source.newest_migration().await?;
    let mut writer = Writer::new(to, &Header::new((tenant, slug), schema, now, &keys))?;
    let mut exported = Vec::new();
    let mut addresses = Vec::new();
    for table in referenced_first(&tables) {
        let Some(condition) = condition(table, tenant) else { continue };
        let select = table.select_where(source.dialect(), &condition);
        let see = |rows: &[Row]| {
            if table.name == "users" {
                addresses.extend(sign_in_addresses(table, rows));
            }
        };
        let rows = write(&mut source, &mut writer, table, &[select], see).await?;
        exported.push(TransferredTable { name: table.name.clone(), rows });
    }
    if exported.iter().any(|table| table.name == "tenants" && table.rows == 0) {
        return Err(TransferError::NoTenant);
    }
    if let Some(table) = tables.iter().find(|table| table.name == SALTS) {
        let selects = salts_of(table, source.dialect(), &addresses);
        let rows = write(&mut source, &mut writer, table, &selects, |_| {}).await?;
        exported.push(TransferredTable { name: table.name.clone(), rows });
    }
    writer.finish(&keys)?;
    exported.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Exported { tables: exported, source })
}

/// Writes the rows of queries on a table, and returns their number.
async fn write<W: Write>(
    source: &mut Side,
    writer: &mut Writer<W>,
    table: &Table,
    selects: &[String],
    mut see: impl FnMut(&[Row]),
) -> Result<u64, TransferError> {
    writer.table(&table.name, table.columns.iter().map(|column| column.name.clone()).collect())?;
    let mut count = 0;
    for select in selects {
        let each = async |mut rows: Vec<Row>| {
            count += rows.len() as u64;
            see(&rows);
            end_leases(table, &mut rows);
            writer.rows(&rows)
        };
        source.each_batch(select, TransferError::Store, each).await?;
    }
    Ok(count)
}

fn end_leases(table: &Table, rows: &mut [Row]) {
    let Some(at) = table.columns.iter().position(|column| column.name == LEASE.0) else { return };
    for until in rows.iter_mut().filter_map(|row| row.get_mut(at)?.as_mut()) {
        LEASE.1.clone_into(until);
    }
}

/// Returns the keys of the salts of users.
fn sign_in_addresses(users: &Table, rows: &[Row]) -> Vec<[u8; 32]> {
    let Some(at) = users.columns.iter().position(|column| column.name == "sign_in_email_key") else {
        return Vec::new();
    };
    let keys = rows.iter().filter_map(|row| row.get(at)?.as_deref());
    keys.map(Salt::address).collect()
}

fn salts_of(table: &Table, dialect: Dialect, addresses: &[[u8; 32]]) -> Vec<String> {
    let literal = |address: &[u8; 32]| {
        let hex = format!("'{}'", data_encoding::HEXLOWER.encode(address));
        Kind::Bytes.read_text(dialect, &hex)
    };
    let select = |few: &[[u8; 32]]| {
        let literals: Vec<_> = few.iter().map(literal).collect();
        let condition = format!("{} IN ({})", quoted("address"), literals.join(", "));
        table.select_where(dialect, &condition)
    };
    addresses.chunks(SALTS_AT_ONCE).map(select).collect()
}
