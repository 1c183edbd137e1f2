//! The columns with secrets that master keys encrypt.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use serde_json::Value;

use super::tables::Kind;

/// A kind of secret. With the ID of its row, it decides which key encrypts a value, and in which place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedSecret {
    /// Secrets of authenticator apps.
    AuthenticatorApp,
    /// Private keys and client secrets of SSO connections.
    Connection,
    /// Secrets of log streams.
    LogStream,
    /// Private keys, and headers of pushes, of shared signals.
    Signal,
}

/// A column with secrets. Its table has the columns `tenant_id` and `id`.
pub(crate) struct SealedColumn {
    pub(crate) table: &'static str,
    /// The second column of the primary key, after `tenant_id`.
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) secret: SealedSecret,
}

impl SealedColumn {
    const fn new(table: &'static str, name: &'static str, kind: Kind, secret: SealedSecret) -> Self {
        Self { table, key: "id", name, kind, secret }
    }

    const fn with_key(self, key: &'static str) -> Self {
        Self { key, ..self }
    }
}

/// All columns with secrets.
pub(crate) const SEALED_COLUMNS: [SealedColumn; 6] = [
    SealedColumn::new("factors", "sealed", Kind::Bytes, SealedSecret::AuthenticatorApp),
    SealedColumn::new("log_streams", "sealed", Kind::Text, SealedSecret::LogStream),
    SealedColumn::new("oidc_providers", "document", Kind::Json, SealedSecret::Connection),
    SealedColumn::new("saml_providers", "document", Kind::Json, SealedSecret::Connection),
    SealedColumn::new("signal_keys", "sealed", Kind::Text, SealedSecret::Signal),
    SealedColumn::new("signal_streams", "sealed", Kind::Text, SealedSecret::Signal).with_key("receiver_id"),
];

/// A value that has another form than this version writes.
pub(crate) struct Malformed;

/// Replaces secrets by others.
type Replace<'r, E> = &'r mut dyn FnMut(&[u8]) -> Result<Vec<u8>, E>;

impl SealedColumn {
    /// Replaces the secrets in a value, as the text of its [`Kind`]. Secrets in a document are members named `sealed`.
    pub(crate) fn replace<E: From<Malformed>>(
        &self,
        text: &str,
        replace: Replace<'_, E>,
    ) -> Result<String, E> {
        match self.kind {
            Kind::Bytes => {
                let bytes = HEXLOWER.decode(text.as_bytes()).map_err(|_| Malformed)?;
                Ok(HEXLOWER.encode(&replace(&bytes)?))
            }
            Kind::Json => replace_members(text, "sealed", &mut |value| in_base64url(value, &mut *replace)),
            _ => in_base64url(text, replace),
        }
    }
}

fn in_base64url<E: From<Malformed>>(text: &str, replace: Replace<'_, E>) -> Result<String, E> {
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| Malformed)?;
    Ok(BASE64URL_NOPAD.encode(&replace(&bytes)?))
}

/// Replaces the texts of all members with a name in a JSON document.
pub(crate) fn replace_members<E: From<Malformed>>(
    text: &str,
    name: &str,
    replace: &mut dyn FnMut(&str) -> Result<String, E>,
) -> Result<String, E> {
    let mut document = serde_json::from_str(text).map_err(|_| Malformed)?;
    walk(&mut document, name, replace)?;
    Ok(document.to_string())
}

fn walk<E>(
    value: &mut Value,
    name: &str,
    replace: &mut dyn FnMut(&str) -> Result<String, E>,
) -> Result<(), E> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns table and name of each column named `sealed` in these definitions, which [`diesel::table!`] reads.
    fn sealed(schema: &str) -> Vec<(&str, &str)> {
        let (mut table, mut found) = ("", Vec::new());
        for line in schema.lines().map(str::trim) {
            if let Some((name, _)) = line.split_once(" (") {
                table = name;
            }
            if let Some((name @ "sealed", _)) = line.split_once(" ->") {
                found.push((table, name));
            }
        }
        found
    }

    #[test]
    fn columns_named_sealed_are_listed() {
        let listed = SEALED_COLUMNS.iter().map(|column| (column.table, column.name));
        let mut listed: Vec<_> = listed.filter(|(_, name)| *name == "sealed").collect();
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/schema")).unwrap();
        let schema: Vec<_> =
            folder.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
        let mut found: Vec<_> = schema.iter().flat_map(|text| sealed(text)).collect();
        listed.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, listed);
    }
}
