//! Shared source for both databases: `super::Connection` differs.

use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use kernel::StoreResult;
use scim_core::User;

use super::Connection;
use crate::{error::store_error, schema::users, scim_core::users::UserRow};

/// Rows per batch.
const BATCH: i64 = 500;

/// Fills missing values of the column, and returns how many rows changed.
pub(crate) async fn refold(conn: &mut Connection) -> StoreResult<usize> {
    let mut done = 0;
    loop {
        let missing = users::table.filter(users::folded.is_null()).limit(BATCH);
        let rows: Vec<(String, UserRow)> =
            missing.select((users::tenant_id, UserRow::as_select())).load(conn).await.map_err(store_error)?;
        if rows.is_empty() {
            return Ok(done);
        }
        // One transaction per batch, because each commit waits for the disk on SQLite.
        conn.batch_execute("BEGIN").await.map_err(store_error)?;
        for (tenant, row) in rows {
            let user = User::try_from(row)?;
            let folded = crate::scim_core::users::json_text(&user.folded())?;
            // Skips rows that were updated concurrently.
            let missing = users::table.find((tenant, user.id.to_string())).filter(users::folded.is_null());
            diesel::update(missing)
                .set(users::folded.eq(Some(folded)))
                .execute(conn)
                .await
                .map_err(store_error)?;
            done += 1;
        }
        conn.batch_execute("COMMIT").await.map_err(store_error)?;
    }
}
