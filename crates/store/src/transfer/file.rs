//! The lines of the file.

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
};

use data_encoding::HEXLOWER;
use kernel::{SigningKeys, TenantId, Timestamp};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use super::TransferError;
use crate::rows::tables::Row;

/// Names the form of the file. The last number grows with changes that older versions cannot read.
pub(super) const FORMAT: &str = "gatehouse tenant 1";

/// The purpose of the keys that sign files.
pub(super) const PURPOSE: &str = "tenant export";

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    /// [`FORMAT`].
    pub(super) format: String,
    /// The tenant.
    pub(super) tenant: TenantId,
    /// Its short name.
    pub(super) slug: String,
    /// The newest migration of the database.
    pub(super) schema: String,
    /// When it was exported.
    pub(super) exported_at: Timestamp,
    /// The tenant's id signed with each master key of the source, by the id of the key.
    pub(super) keys: BTreeMap<String, String>,
}

impl Header {
    pub(super) fn new(
        (tenant, slug): (&TenantId, &str),
        schema: String,
        now: Timestamp,
        keys: &SigningKeys,
    ) -> Self {
        let signatures = keys.sign_with_each(tenant.as_str().as_bytes());
        Self {
            format: FORMAT.to_owned(),
            tenant: tenant.clone(),
            slug: slug.to_owned(),
            schema,
            exported_at: now,
            keys: signatures.map(|own| (own.key.to_owned(), HEXLOWER.encode(&own.tag))).collect(),
        }
    }

    /// Returns the ids here of keys of the source, by their ids there.
    pub(super) fn shared_keys(&self, keys: &SigningKeys) -> BTreeMap<String, String> {
        let here = |tag: &str| {
            let tag = HEXLOWER.decode(tag.as_bytes()).ok()?;
            let message = self.tenant.as_str().as_bytes();
            let mut same = keys.sign_with_each(message).filter(|own| keys.verify(own.key, message, &tag));
            same.next().map(|own| own.key.to_owned())
        };
        self.keys.iter().filter_map(|(id, tag)| Some((id.clone(), here(tag)?))).collect()
    }
}

/// A line after the header that is not a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Mark {
    Table { table: String, columns: Vec<String> },
    End { key: String, signature: String },
}

/// A line after the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// The rows that follow belong to this table.
    Table { name: String, columns: Vec<String> },
    /// The values of a row in the order of the columns.
    Row(Row),
}

/// Writes a file.
pub(super) struct Writer<W> {
    to: W,
    digest: Context,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(to: W, header: &Header) -> Result<Self, TransferError> {
        let mut writer = Self { to, digest: Context::new(&SHA256) };
        writer.line(header)?;
        Ok(writer)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), TransferError> {
        let mut line = serde_json::to_vec(value).map_err(std::io::Error::from)?;
        line.push(b'\n');
        self.digest.update(&line);
        Ok(self.to.write_all(&line)?)
    }

    pub(super) fn table(&mut self, table: &str, columns: Vec<String>) -> Result<(), TransferError> {
        self.line(&Mark::Table { table: table.to_owned(), columns })
    }

    pub(super) fn rows(&mut self, rows: &[Row]) -> Result<(), TransferError> {
        rows.iter().try_for_each(|row| self.line(row))
    }

    /// Signs the file and completes it.
    pub(super) fn finish(mut self, keys: &SigningKeys) -> Result<(), TransferError> {
        let digest = self.digest.clone().finish();
        let signature = keys.sign(digest.as_ref()).ok_or(TransferError::NoKey)?;
        let end = Mark::End { key: signature.key.to_owned(), signature: HEXLOWER.encode(&signature.tag) };
        self.line(&end)?;
        Ok(self.to.flush()?)
    }
}

/// Reads a file and verifies its signature at the end.
pub(super) struct Reader<'k, R> {
    from: R,
    keys: &'k SigningKeys,
    /// Ids of keys here by those at the source.
    pub(super) shared: BTreeMap<String, String>,
    digest: Context,
    /// Number of the line that was read last, from 1.
    pub(super) line: u64,
    pub(super) header: Header,
}

impl<'k, R: BufRead> Reader<'k, R> {
    pub(super) fn new(mut from: R, keys: &'k SigningKeys) -> Result<Self, TransferError> {
        let mut first = Vec::new();
        from.read_until(b'\n', &mut first)?;
        let header: Header = serde_json::from_slice(&first).map_err(|_| TransferError::Format(1))?;
        if header.format != FORMAT {
            return Err(TransferError::Format(1));
        }
        let shared = header.shared_keys(keys);
        if shared.is_empty() {
            return Err(TransferError::UnknownKey);
        }
        let mut digest = Context::new(&SHA256);
        digest.update(&first);
        Ok(Self { from, keys, shared, digest, line: 1, header })
    }

    /// Returns the next line; `None` after the last one, if its signature is valid.
    pub(super) fn next(&mut self) -> Result<Option<Line>, TransferError> {
        let mut line = Vec::new();
        self.from.read_until(b'\n', &mut line)?;
        self.line += 1;
        if line.is_empty() {
            return Err(TransferError::Signature);
        }
        let broken = || TransferError::Format(self.line);
        let read = if line.starts_with(b"[") {
            Line::Row(serde_json::from_slice(&line).map_err(|_| broken())?)
        } else {
            match serde_json::from_slice(&line).map_err(|_| broken())? {
                Mark::Table { table: name, columns } => Line::Table { name, columns },
                Mark::End { key, signature } => {
                    return if self.is_signed(&key, &signature) && self.from.fill_buf()?.is_empty() {
                        Ok(None)
                    } else {
                        Err(TransferError::Signature)
                    };
                }
            }
        };
        self.digest.update(&line);
        Ok(Some(read))
    }

    fn is_signed(&self, key: &str, signature: &str) -> bool {
        let digest = self.digest.clone().finish();
        let (Some(here), Ok(tag)) = (self.shared.get(key), HEXLOWER.decode(signature.as_bytes())) else {
            return false;
        };
        self.keys.verify(here, digest.as_ref(), &tag)
    }
}
