//! The ids of master keys in rows.

use std::collections::BTreeMap;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use kernel::SealingKeys;
use serde_json::Value;

use super::TransferError;
use crate::rows::tables::{Row, Table};

/// The ids of keys here.
pub(super) struct KeyIds<'k> {
    /// By those at the source.
    pub(super) shared: &'k BTreeMap<String, String>,
    /// Whether there is a key with an id here.
    pub(super) is_used: &'k dyn Fn(&str) -> bool,
}

/// Replaces the ids in a value.
type Replace<'k> = fn(&KeyIds<'k>, &str) -> Result<String, Problem>;

/// Why an id cannot be replaced.
enum Problem {
    /// The value has another form than this version writes.
    Malformed,
    /// The key is not known here.
    Unknown(String),
    /// Another key has the id here.
    Taken(String),
}

impl<'k> KeyIds<'k> {
    /// Replaces the ids in a row.
    pub(super) fn replace(&self, table: &Table, row: &mut Row) -> Result<(), TransferError> {
        let (column, replace): (_, Replace<'k>) = match table.name.as_str() {
            "audit_entries" => ("mac_key", Self::mac_key),
            "factors" => ("sealed", Self::sealed_hex),
            "saml_providers" => ("document", Self::sealed_in_document),
            "webhook_subscriptions" => ("secrets", Self::webhook_secrets),
            _ => return Ok(()),
        };
        for (known, value) in table.columns.iter().zip(row) {
            if let (true, Some(text)) = (known.name == column, value) {
                *text = replace(self, text).map_err(|problem| match problem {
                    Problem::Malformed => TransferError::Schema(table.name.clone()),
                    Problem::Unknown(key) => TransferError::SealedWith { table: table.name.clone(), key },
                    Problem::Taken(key) => TransferError::RetiredKey(key),
                })?;
            }
        }
        Ok(())
    }

    fn here(&self, id: &str) -> Result<String, Problem> {
        self.shared.get(id).cloned().ok_or_else(|| Problem::Unknown(id.to_owned()))
    }

    /// The log also verifies with a key that the source has retired, if the operator names it.
    fn mac_key(&self, id: &str) -> Result<String, Problem> {
        match self.here(id) {
            Err(Problem::Unknown(id)) if (self.is_used)(&id) => Err(Problem::Taken(id)),
            Err(Problem::Unknown(id)) => Ok(id),
            known => known,
        }
    }

    fn sealed(&self, bytes: &[u8]) -> Result<Vec<u8>, Problem> {
        let mut unknown = None;
        let renamed = SealingKeys::rename(bytes, |id| match self.here(id) {
            Ok(here) => Some(here),
            Err(problem) => {
                unknown = Some(problem);
                None
            }
        });
        renamed.ok_or_else(|| unknown.unwrap_or(Problem::Malformed))
    }

    fn sealed_hex(&self, hex: &str) -> Result<String, Problem> {
        let bytes = HEXLOWER.decode(hex.as_bytes()).map_err(|_| Problem::Malformed)?;
        Ok(HEXLOWER.encode(&self.sealed(&bytes)?))
    }

    /// Private keys of an SSO connection are members named `sealed`.
    fn sealed_in_document(&self, text: &str) -> Result<String, Problem> {
        let replace = |value: &str| {
            let bytes = BASE64URL_NOPAD.decode(value.as_bytes()).map_err(|_| Problem::Malformed)?;
            Ok(BASE64URL_NOPAD.encode(&self.sealed(&bytes)?))
        };
        with_members(text, "sealed", &replace)
    }

    fn webhook_secrets(&self, text: &str) -> Result<String, Problem> {
        with_members(text, "key", &|id| self.here(id))
    }
}

/// Replaces the texts of all members with a name in a JSON document.
fn with_members(
    text: &str,
    name: &str,
    replace: &dyn Fn(&str) -> Result<String, Problem>,
) -> Result<String, Problem> {
    let mut document = serde_json::from_str(text).map_err(|_| Problem::Malformed)?;
    walk(&mut document, name, replace)?;
    Ok(document.to_string())
}

fn walk(
    value: &mut Value,
    name: &str,
    replace: &dyn Fn(&str) -> Result<String, Problem>,
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
