//! Keys that sign tokens.

use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};
use signals::{KeyStore, StoredKey};

use crate::{
    Tx,
    db::{change, change_unaudited, lock, read},
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::{signal_keys as rows, tenants},
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
struct KeyRow {
    tenant_id: String,
    id: String,
    jwk: JsonText,
    sealed: String,
    created_at: NaiveDateTime,
    replaced_at: Option<NaiveDateTime>,
}

#[async_trait]
impl KeyStore for Tx {
    /// Returns the keys, newest first.
    async fn signing_keys(&mut self) -> StoreResult<Vec<StoredKey>> {
        let query = rows::table.filter(rows::tenant_id.eq(self.tenant.as_str()));
        let mut found: Vec<KeyRow> = read!(self, c => query.select(KeyRow::as_select()).load(c).await)?;
        // The one that no other has replaced is first.
        found.sort_by_key(|row| (row.replaced_at.is_some(), std::cmp::Reverse(row.created_at)));
        let read = |row: KeyRow| {
            Ok(StoredKey {
                jwk: read_json("signal_keys.jwk", &row.jwk)?,
                sealed: row.sealed,
                created_at: Timestamp::from_naive(row.created_at),
                replaced_at: row.replaced_at.map(Timestamp::from_naive),
            })
        };
        found.into_iter().map(read).collect()
    }

    async fn add_signing_key(&mut self, key: &StoredKey, forget_before: Timestamp) -> StoreResult<()> {
        let tenant = self.tenant.as_str().to_owned();
        // One at a time, so that one key is the newest.
        let _locked: Option<String> =
            lock!(self, for_update, first, tenants::table.find(&tenant).select(tenants::id))?;
        let forgotten = rows::table
            .filter(rows::tenant_id.eq(&tenant))
            .filter(rows::replaced_at.lt(forget_before.naive()));
        change_unaudited!(self, Unaudited::LookedAfter, c => diesel::delete(forgotten).execute(c).await)?;
        let current = rows::table.filter(rows::tenant_id.eq(&tenant)).filter(rows::replaced_at.is_null());
        let replaced =
            Prepared(diesel::update(current).set(rows::replaced_at.eq(Some(key.created_at.naive()))));
        change!(self, c => replaced.execute(c).await)?;
        let row = KeyRow {
            tenant_id: tenant,
            id: key.jwk.kid.clone(),
            jwk: json_text("signal_keys.jwk", &key.jwk)?,
            sealed: key.sealed.clone(),
            created_at: key.created_at.naive(),
            replaced_at: key.replaced_at.map(Timestamp::naive),
        };
        change!(self, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
        Ok(())
    }
}
