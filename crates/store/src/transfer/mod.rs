//! Exports a tenant with its audit log to a file, and imports it into another database.
//!
//! A file consists of lines of JSON: a [`file::Header`], then for each table its name with its columns and its rows as
//! arrays of texts, and at the end a signature of everything before. Writing or changing a file takes a master key.
//!
//! Rows name the master key that sealed or authenticated a value by an id that the operator chose. The importing
//! installation may hold the same key under another id, so [`key_ids`] replaces them.

mod error;
mod export;
mod file;
mod import;
mod key_ids;

pub use self::error::TransferError;
pub use self::export::{Exported, export_tenant};
pub use self::import::{Imported, import_tenant};

use kernel::{MasterKeys, SigningKeys, TenantId};

use crate::{
    DatabaseUrl,
    rows::{
        side::Side,
        tables::{Table, quoted},
    },
};

/// State of a sign-in or a step-up in progress. It is worth nothing elsewhere, and would need keys of its own.
const IN_PROGRESS: [&str; 5] =
    ["oidc_requests", "saml_requests", "saml_trials", "step_up_challenges", "tickets"];

/// The salts of passwords have no tenant: they belong to sign-in addresses.
const SALTS: &str = "password_salts";

/// A table of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferredTable {
    /// Its name.
    pub name: String,
    /// Number of its rows.
    pub rows: u64,
}

/// Returns the keys that sign and verify files. Fails without any, or if the database is not there or not migrated.
async fn signing_keys(url: &DatabaseUrl, masters: &MasterKeys) -> Result<SigningKeys, TransferError> {
    if !url.may_exist() {
        return Err(TransferError::Missing);
    }
    if Side::is_behind(url).await? {
        return Err(TransferError::Behind);
    }
    let keys = SigningKeys::derive(masters, file::PURPOSE);
    if keys.newest().is_none() { Err(TransferError::NoKey) } else { Ok(keys) }
}

/// Returns the column with the tenant; `None` for tables without a tenant or whose rows stay.
fn tenant_column(table: &Table) -> Option<&'static str> {
    if IN_PROGRESS.contains(&table.name.as_str()) {
        return None;
    }
    let column = if table.name == "tenants" { "id" } else { "tenant_id" };
    table.columns.iter().any(|known| known.name == column).then_some(column)
}

/// Returns the condition for the rows of a tenant; `None` for tables without a tenant or whose rows stay.
fn condition(table: &Table, tenant: &TenantId) -> Option<String> {
    Some(format!("{} = '{tenant}'", quoted(tenant_column(table)?)))
}
