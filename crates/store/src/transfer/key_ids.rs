//! The ids of master keys in rows.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use kernel::SealingKeys;
use ring::digest::{SHA256, digest};

use super::{TransferError, file::Header};
use crate::rows::{
    sealed::{Malformed, SEALED_COLUMNS, replace_members},
    tables::{Row, Table},
};

/// Replaces the ids of keys at the source by those here.
pub(super) struct KeyIds {
    header: Header,
    /// Ids here of keys that both sides have, by those at the source.
    shared: BTreeMap<String, String>,
    /// New ids of keys that the source has retired, by the old ones.
    pub(super) retired: BTreeMap<String, String>,
}

/// Why an id cannot be replaced.
enum Problem {
    /// The value has another form than this version writes.
    Malformed,
    /// The source has the key, but this installation does not.
    Missing(String),
}

impl From<Malformed> for Problem {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl KeyIds {
    pub(super) fn new(header: Header, shared: BTreeMap<String, String>) -> Self {
        Self { header, shared, retired: BTreeMap::new() }
    }

    /// Replaces the ids in a row.
    pub(super) fn replace(&mut self, table: &Table, row: &mut Row) -> Result<(), TransferError> {
        if table.name == "sessions" {
            // An ID token only spares a question at sign-out.
            let hints = table.columns.iter().zip(row).filter(|(column, _)| column.name == "logout_hint");
            hints.for_each(|(_, hint)| *hint = None);
            return Ok(());
        }
        for (column, value) in table.columns.iter().zip(row) {
            if let Some(text) = value {
                self.replace_in(&table.name, &column.name, text).map_err(|problem| match problem {
                    Problem::Malformed => TransferError::Schema(table.name.clone()),
                    Problem::Missing(key) => TransferError::MissingKey { table: table.name.clone(), key },
                })?;
            }
        }
        Ok(())
    }

    /// Replaces the ids in the value of a column.
    fn replace_in(&mut self, table: &str, column: &str, text: &mut String) -> Result<(), Problem> {
        let sealed = SEALED_COLUMNS.iter().find(|sealed| (sealed.table, sealed.name) == (table, column));
        *text = match (table, column, sealed) {
            (_, _, Some(sealed)) => sealed.replace(text, &mut |bytes| self.sealed(bytes))?,
            ("audit_entries", "mac_key", _) => self.here(text)?,
            ("webhook_subscriptions", "secrets", _) => replace_members(text, "key", &mut |id| self.here(id))?,
            _ => return Ok(()),
        };
        Ok(())
    }

    /// A key that the source has retired gets an id that no other key has. Its values are as useless as they were.
    fn here(&mut self, id: &str) -> Result<String, Problem> {
        if let Some(here) = self.shared.get(id) {
            return Ok(here.clone());
        }
        if self.header.keys.contains_key(id) {
            return Err(Problem::Missing(id.to_owned()));
        }
        let new = || {
            let of = [self.header.tenant.as_str(), id].join("\0");
            let hash = HEXLOWER.encode(digest(&SHA256, of.as_bytes()).as_ref());
            format!("retired{}", hash.get(..16).unwrap_or_default())
        };
        Ok(self.retired.entry(id.to_owned()).or_insert_with(new).clone())
    }

    fn sealed(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Problem> {
        let mut missing = None;
        let renamed = SealingKeys::rename(bytes, |id| match self.here(id) {
            Ok(here) => Some(here),
            Err(problem) => {
                missing = Some(problem);
                None
            }
        });
        renamed.ok_or_else(|| missing.unwrap_or(Problem::Malformed))
    }
}
