//! Encrypts stored secrets again, with the newest key.

use audit::Unaudited;
use diesel::{QueryableByName, sql_query, sql_types::Text};
use diesel_async::RunQueryDsl;
use kernel::{SealedAgain, StoreResult};

use crate::{
    Tx,
    db::{change_unaudited, read},
    error::corrupt,
    rows::sealed::{Malformed, SEALED_COLUMNS, SealedColumn, SealedSecret},
};

/// Rows that one unit of work reads.
const AT_ONCE: i64 = 500;

/// How far [`Tx::seal_again`] has come in a tenant, and what it did until there. Begin with the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SealingProgress {
    /// The secrets that were encrypted again.
    pub changed: u64,
    /// The secrets that cannot be decrypted: their key is missing.
    pub unreadable: u64,
    /// Whether all rows have been read.
    pub is_done: bool,
    column: usize,
    after: String,
}

#[derive(QueryableByName)]
struct Stored {
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = Text)]
    value: String,
}

impl Tx {
    /// Encrypts the secrets of the next rows again. `again` gets the kind of a secret, the ID of its row and its
    /// encrypted value. After the last call, record an audit event if any secret was changed.
    pub async fn seal_again(
        &mut self,
        mut progress: SealingProgress,
        again: impl Fn(SealedSecret, &str, &[u8]) -> SealedAgain + Send,
    ) -> StoreResult<SealingProgress> {
        let Some(column) = SEALED_COLUMNS.get(progress.column) else {
            progress.is_done = true;
            return Ok(progress);
        };
        let rows = self.sealed_rows(column, &progress.after).await?;
        for row in &rows {
            let (mut changed, mut unreadable) = (0, 0);
            let new = column.replace(&row.value, &mut |sealed| match again(column.secret, &row.id, sealed) {
                SealedAgain::Changed(new) => {
                    changed += 1;
                    Ok(new)
                }
                SealedAgain::Unchanged => Ok(sealed.to_vec()),
                SealedAgain::Unreadable => {
                    unreadable += 1;
                    Ok(sealed.to_vec())
                }
            });
            let new =
                new.map_err(|Malformed| corrupt(column.table, format!("{} of {}", column.name, row.id)))?;
            if changed > 0 && !self.replace_sealed(column, row, &new).await? {
                // Someone changed the row: the next unit of work reads it again.
                return Ok(progress);
            }
            progress.changed += changed;
            progress.unreadable += unreadable;
            progress.after.clone_from(&row.id);
        }
        if rows.is_empty() {
            progress.column += 1;
            progress.after.clear();
        }
        Ok(progress)
    }

    async fn sealed_rows(&mut self, column: &SealedColumn, after: &str) -> StoreResult<Vec<Stored>> {
        let value = column.kind.to_text(self.db.dialect(), column.name);
        let query = format!(
            "SELECT id, {value} AS value FROM {} WHERE tenant_id = $1 AND id > $2 AND {} IS NOT NULL ORDER BY id LIMIT {AT_ONCE}",
            column.table, column.name
        );
        let query = sql_query(query).bind::<Text, _>(self.tenant.as_str()).bind::<Text, _>(after);
        read!(self, c => query.load(c).await)
    }

    /// Returns whether the row was as it had been read.
    async fn replace_sealed(&mut self, column: &SealedColumn, row: &Stored, new: &str) -> StoreResult<bool> {
        let dialect = self.db.dialect();
        let (new_value, value) =
            (column.kind.read_text(dialect, "$1"), column.kind.to_text(dialect, column.name));
        let update = format!(
            "UPDATE {} SET {} = {new_value} WHERE tenant_id = $2 AND id = $3 AND {value} = $4",
            column.table, column.name
        );
        let update = sql_query(update)
            .bind::<Text, _>(new)
            .bind::<Text, _>(self.tenant.as_str())
            .bind::<Text, _>(&row.id)
            .bind::<Text, _>(&row.value);
        let updated: usize = change_unaudited!(self, Unaudited::StepTaken, c => update.execute(c).await)?;
        Ok(updated > 0)
    }
}
