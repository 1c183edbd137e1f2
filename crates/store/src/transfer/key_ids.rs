//! The ids of master keys in rows.

use std::collections::BTreeMap;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use kernel::SealingKeys;
use ring::digest::{SHA256, digest};
use serde_json::Value;

use super::{TransferError, file::Header};
use crate::rows::tables::{Row, Table};

/// Replaces the ids of keys at the source by those here.
pub(super) struct KeyIds {
    header: Header,
    /// Ids here of keys that both sides have, by those at the source.
    shared: BTreeMap<String, String>,
    /// New ids of keys that the source has retired, by the old ones.
    pub(super) retired: BTreeMap<String, String>,
}

/// Replaces the ids in a value.
type Replace = fn(&mut KeyIds, &str) -> Result<String, Problem>;

/// Why an id cannot be replaced.
enum Problem {
    /// The value has another form than this version writes.
    Malformed,
    /// The source has the key, but this installation does not.
    Missing(String),
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
        let (column, replace): (_, Replace) = match table.name.as_str() {
            "audit_entries" => ("mac_key", Self::here),
            "factors" => ("sealed", Self::sealed_hex),
            "log_streams" | "signal_keys" | "signal_streams" => ("sealed", Self::sealed_base64url),
            "oidc_providers" | "saml_providers" => ("document", Self::sealed_in_document),
            "webhook_subscriptions" => ("secrets", Self::webhook_secrets),
            _ => return Ok(()),
        };
        for (known, value) in table.columns.iter().zip(row) {
            if let (true, Some(text)) = (known.name == column, value) {
                *text = replace(self, text).map_err(|problem| match problem {
                    Problem::Malformed => TransferError::Schema(table.name.clone()),
                    Problem::Missing(key) => TransferError::MissingKey { table: table.name.clone(), key },
                })?;
            }
        }
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

    fn sealed_hex(&mut self, hex: &str) -> Result<String, Problem> {
        let bytes = HEXLOWER.decode(hex.as_bytes()).map_err(|_| Problem::Malformed)?;
        Ok(HEXLOWER.encode(&self.sealed(&bytes)?))
    }

    fn sealed_base64url(&mut self, text: &str) -> Result<String, Problem> {
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| Problem::Malformed)?;
        Ok(BASE64URL_NOPAD.encode(&self.sealed(&bytes)?))
    }

    /// Private keys of an SSO connection are members named `sealed`.
    fn sealed_in_document(&mut self, text: &str) -> Result<String, Problem> {
        with_members(text, "sealed", &mut |value| self.sealed_base64url(value))
    }

    fn webhook_secrets(&mut self, text: &str) -> Result<String, Problem> {
        with_members(text, "key", &mut |id| self.here(id))
    }
}

/// Replaces the texts of all members with a name in a JSON document.
fn with_members(
    text: &str,
    name: &str,
    replace: &mut dyn FnMut(&str) -> Result<String, Problem>,
) -> Result<String, Problem> {
    let mut document = serde_json::from_str(text).map_err(|_| Problem::Malformed)?;
    walk(&mut document, name, replace)?;
    Ok(document.to_string())
}

fn walk(
    value: &mut Value,
    name: &str,
    replace: &mut dyn FnMut(&str) -> Result<String, Problem>,
) -> Result<(), Problem> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| walk(item, name, replace)),
        Value::Object(members) => members.iter_mut().try_for_each(|(key, member)| match member {
            Value::String(text) if key == name => {
                *text = replace(text)?;
                Ok(())
            }
            member => walk(member, name, replace),
        }),
        _ => Ok(()),
    }
}
