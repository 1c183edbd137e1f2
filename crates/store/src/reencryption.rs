//! Encrypts stored secrets with the current key.

use diesel::{
    QueryableByName, sql_query,
    sql_types::{BigInt, Text},
};
use diesel_async::RunQueryDsl;
use kernel::{Reencrypted, StoreResult};

use crate::{
    Tx,
    db::{change, read},
    prepared::Prepared,
    rows::sealed::{Malformed, SEALED_COLUMNS, SealedColumn, SealedSecret},
};

/// Rows that one unit of work reads. Few, so that a sign-in hardly waits for their locks.
const AT_ONCE: usize = 100;

/// Secrets that cannot be decrypted and are named.
const MOST_NAMED: usize = 20;

/// How far [`Tx::reencrypt`] has come in a tenant, and what it has done so far. Begin with the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReencryptionProgress {
    /// The number of secrets that were encrypted with the current key.
    pub changed: u64,
    /// The number of secrets that cannot be decrypted: their key is missing, or they are malformed.
    pub unreadable: u64,
    /// Table and row ID of the first 20 of them.
    pub named: Vec<(&'static str, String)>,
    /// Whether all rows have been read.
    pub is_done: bool,
    column: usize,
    after: String,
}

#[derive(QueryableByName)]
struct Stored {
    #[diesel(sql_type = Text)]
    key: String,
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = Text)]
    value: String,
}

impl Tx {
    /// Encrypts the secrets of the next rows with the current key. `reencrypt` gets the kind of a secret, the ID of its row
    /// and its encrypted value. If it changes no secret, this only reads.
    pub async fn reencrypt(
        &mut self,
        mut progress: ReencryptionProgress,
        reencrypt: impl Fn(SealedSecret, &str, &[u8]) -> Reencrypted + Send + Sync,
    ) -> StoreResult<ReencryptionProgress> {
        let mut left = AT_ONCE;
        while left > 0 {
            let Some(column) = SEALED_COLUMNS.get(progress.column) else {
                progress.is_done = true;
                break;
            };
            let rows = self.sealed_rows(column, &progress.after, left).await?;
            for row in &rows {
                if !self.reencrypt_row(column, row, &reencrypt, &mut progress).await? {
                    // Someone changed the row: the next unit of work reads it again.
                    return Ok(progress);
                }
                progress.after.clone_from(&row.key);
            }
            if rows.len() < left {
                progress.column += 1;
                progress.after.clear();
            }
            left -= rows.len();
        }
        Ok(progress)
    }

    /// Returns whether the row was as it had been read.
    async fn reencrypt_row(
        &mut self,
        column: &SealedColumn,
        row: &Stored,
        reencrypt: impl Fn(SealedSecret, &str, &[u8]) -> Reencrypted + Send + Sync,
        progress: &mut ReencryptionProgress,
    ) -> StoreResult<bool> {
        let (mut changed, mut unreadable) = (0, 0);
        let new = column.replace(&row.value, &mut |sealed| match reencrypt(column.secret, &row.id, sealed) {
            Reencrypted::Changed(new) => {
                changed += 1;
                Ok(new)
            }
            Reencrypted::Unchanged => Ok(sealed.to_vec()),
            Reencrypted::Unreadable => {
                unreadable += 1;
                Ok(sealed.to_vec())
            }
        });
        match new {
            Ok(new) if changed > 0 => {
                if !self.replace_sealed(column, row, &new).await? {
                    return Ok(false);
                }
                progress.changed += changed;
            }
            Ok(_) => {}
            Err(Malformed) => unreadable += 1,
        }
        if unreadable > 0 && progress.named.len() < MOST_NAMED {
            progress.named.push((column.table, row.id.clone()));
        }
        progress.unreadable += unreadable;
        Ok(true)
    }

    async fn sealed_rows(
        &mut self,
        column: &SealedColumn,
        after: &str,
        limit: usize,
    ) -> StoreResult<Vec<Stored>> {
        let value = column.kind.to_text(self.db.dialect(), column.name);
        let SealedColumn { table, key, name, .. } = column;
        let query = format!(
            "SELECT {key} AS \"key\", id, {value} AS \"value\" FROM {table} \
             WHERE tenant_id = $1 AND {key} > $2 AND {name} IS NOT NULL ORDER BY {key} LIMIT $3"
        );
        let query = sql_query(query)
            .bind::<Text, _>(self.tenant.as_str())
            .bind::<Text, _>(after)
            .bind::<BigInt, _>(i64::try_from(limit).unwrap_or(i64::MAX));
        read!(self, c => Prepared(query).load(c).await)
    }

    /// Returns whether the row was as it had been read.
    async fn replace_sealed(&mut self, column: &SealedColumn, row: &Stored, new: &str) -> StoreResult<bool> {
        let dialect = self.db.dialect();
        let (new_value, value) =
            (column.kind.read_text(dialect, "$1"), column.kind.to_text(dialect, column.name));
        let SealedColumn { table, key, name, .. } = column;
        let update = format!(
            "UPDATE {table} SET {name} = {new_value} WHERE tenant_id = $2 AND {key} = $3 AND {value} = $4"
        );
        let update = sql_query(update)
            .bind::<Text, _>(new)
            .bind::<Text, _>(self.tenant.as_str())
            .bind::<Text, _>(&row.key)
            .bind::<Text, _>(&row.value);
        Ok(change!(self, c => Prepared(update).execute(c).await)? > 0)
    }
}
