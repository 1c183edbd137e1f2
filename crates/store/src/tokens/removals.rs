//! Removals of users by SCIM tokens.

use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::{dsl, prelude::*, upsert::excluded};
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp, UserId};
use tokens::{
    ScimTokenId,
    removals::{HeldRemoval, RemovalKind, RemovalLimit, RemovalState, RemovalStore},
};

use crate::{
    Tx,
    db::{change, change_unaudited, lock, read},
    error::corrupt,
    prepared::Prepared,
    schema::{held_removals as held_rows, removal_limits as limits, removals as rows, scim_tokens, users},
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = limits, treat_none_as_default_value = false)]
struct LimitRow {
    tenant_id: String,
    enabled: bool,
    percent: i64,
    users: i64,
}

impl TryFrom<LimitRow> for RemovalLimit {
    type Error = StoreError;

    fn try_from(row: LimitRow) -> StoreResult<Self> {
        Ok(Self {
            enabled: row.enabled,
            percent: row.percent.try_into().map_err(|error| corrupt("removal_limits.percent", error))?,
            users: row.users.try_into().map_err(|error| corrupt("removal_limits.users", error))?,
        })
    }
}

#[derive(Insertable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
struct RemovalRow<'a> {
    tenant_id: &'a str,
    token_id: &'a str,
    user_id: &'a str,
    at: NaiveDateTime,
}

#[derive(Insertable)]
#[diesel(table_name = held_rows, treat_none_as_default_value = false)]
struct HeldRow<'a> {
    tenant_id: &'a str,
    token_id: &'a str,
    user_id: &'a str,
    deletes: bool,
    at: NaiveDateTime,
}

fn read_held(user: &str, deletes: bool, at: NaiveDateTime) -> StoreResult<HeldRemoval> {
    Ok(HeldRemoval {
        user: user.parse().map_err(|error| corrupt("held_removals.user_id", error))?,
        kind: if deletes { RemovalKind::Delete } else { RemovalKind::Deactivate },
        at: Timestamp::from_naive(at),
    })
}

type StateRow = (Option<NaiveDateTime>, Option<i64>, Option<NaiveDateTime>);

fn read_state((paused, users, counted): StateRow) -> RemovalState {
    let counted = counted.map(Timestamp::from_naive);
    RemovalState {
        paused_at: paused.map(Timestamp::from_naive),
        counted: users.and_then(|users| users.try_into().ok()).zip(counted),
    }
}

fn to_count(count: i64) -> u64 {
    count.try_into().unwrap_or(0)
}

#[async_trait]
impl RemovalStore for Tx {
    async fn removal_limit(&mut self) -> StoreResult<RemovalLimit> {
        let query = limits::table.find(self.tenant.as_str());
        let row: Option<LimitRow> =
            read!(self, c => query.select(LimitRow::as_select()).first(c).await.optional())?;
        row.map_or_else(|| Ok(RemovalLimit::default()), RemovalLimit::try_from)
    }

    async fn set_removal_limit(&mut self, limit: &RemovalLimit) -> StoreResult<()> {
        let row = LimitRow {
            tenant_id: self.tenant.to_string(),
            enabled: limit.enabled,
            percent: limit.percent.into(),
            users: limit.users.into(),
        };
        let new = (
            limits::enabled.eq(excluded(limits::enabled)),
            limits::percent.eq(excluded(limits::percent)),
            limits::users.eq(excluded(limits::users)),
        );
        let upsert = diesel::insert_into(limits::table).values(&row);
        let query = Prepared(upsert.on_conflict(limits::tenant_id).do_update().set(new));
        change!(self, c => query.execute(c).await)?;
        Ok(())
    }

    async fn removal_state(&mut self, token: &ScimTokenId) -> StoreResult<Option<RemovalState>> {
        let query = scim_tokens::table
            .find((self.tenant.as_str(), token.as_str()))
            .filter(scim_tokens::revoked_at.is_null())
            .select((
                scim_tokens::removals_paused_at,
                scim_tokens::removals_users,
                scim_tokens::removals_counted_at,
            ));
        let row: Option<StateRow> = lock!(self, for_update, first, query)?;
        Ok(row.map(read_state))
    }

    async fn set_removal_state(&mut self, token: &ScimTokenId, state: &RemovalState) -> StoreResult<()> {
        let (users, counted) = state.counted.unzip();
        let new = (
            scim_tokens::removals_paused_at.eq(state.paused_at.map(Timestamp::naive)),
            scim_tokens::removals_users.eq(users.map(|users| i64::try_from(users).unwrap_or(i64::MAX))),
            scim_tokens::removals_counted_at.eq(counted.map(Timestamp::naive)),
        );
        let row = scim_tokens::table.find((self.tenant.as_str(), token.as_str()));
        let query = Prepared(dsl::update(row).set(new));
        change_unaudited!(self, Unaudited::PartOfChange, c => query.execute(c).await)?;
        Ok(())
    }

    async fn record_removal(&mut self, token: &ScimTokenId, user: &UserId, at: Timestamp) -> StoreResult<()> {
        let row = RemovalRow {
            tenant_id: self.tenant.as_str(),
            token_id: token.as_str(),
            user_id: user.as_str(),
            at: at.naive(),
        };
        let upsert = diesel::insert_into(rows::table).values(&row);
        let upsert = upsert.on_conflict((rows::tenant_id, rows::token_id, rows::user_id)).do_update();
        let query = Prepared(upsert.set(rows::at.eq(excluded(rows::at))));
        change_unaudited!(self, Unaudited::PartOfChange, c => query.execute(c).await)?;
        Ok(())
    }

    async fn count_removals(
        &mut self,
        token: &ScimTokenId,
        user: &UserId,
        since: Timestamp,
    ) -> StoreResult<u64> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::token_id.eq(token.as_str()))
            .filter(rows::at.gt(since.naive()))
            .filter(rows::user_id.ne(user.as_str()))
            .count();
        let count: i64 = read!(self, c => query.get_result(c).await)?;
        Ok(to_count(count))
    }

    async fn forget_removals(&mut self, token: &ScimTokenId) -> StoreResult<()> {
        let removed = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::token_id.eq(token.as_str()));
        change_unaudited!(self, Unaudited::PartOfChange, c => dsl::delete(removed).execute(c).await)?;
        Ok(())
    }

    async fn count_active_users(&mut self, created_before: Timestamp) -> StoreResult<u64> {
        let query = users::table
            .filter(users::tenant_id.eq(self.tenant.as_str()))
            .filter(users::deleted_at.is_null())
            .filter(users::active.eq(true))
            .filter(users::created_at.lt(created_before.naive()))
            .count();
        let count: i64 = read!(self, c => query.get_result(c).await)?;
        Ok(to_count(count))
    }

    async fn hold_removal(&mut self, token: &ScimTokenId, removal: &HeldRemoval) -> StoreResult<()> {
        let row = HeldRow {
            tenant_id: self.tenant.as_str(),
            token_id: token.as_str(),
            user_id: removal.user.as_str(),
            deletes: removal.kind == RemovalKind::Delete,
            at: removal.at.naive(),
        };
        let is_stronger = held_rows::deletes.eq(false).and(excluded(held_rows::deletes).eq(true));
        let deletes = dsl::case_when(is_stronger, excluded(held_rows::deletes)).otherwise(held_rows::deletes);
        let at = dsl::case_when(is_stronger, excluded(held_rows::at)).otherwise(held_rows::at);
        let newer = (held_rows::at.eq(at), held_rows::deletes.eq(deletes));
        let upsert = diesel::insert_into(held_rows::table).values(&row);
        let key = (held_rows::tenant_id, held_rows::token_id, held_rows::user_id);
        let query = Prepared(upsert.on_conflict(key).do_update().set(newer));
        change_unaudited!(self, Unaudited::PartOfChange, c => query.execute(c).await)?;
        Ok(())
    }

    async fn held_removals(
        &mut self,
        token: &ScimTokenId,
        after: Option<&UserId>,
        count: u32,
    ) -> StoreResult<Vec<HeldRemoval>> {
        let query = held_rows::table
            .filter(held_rows::tenant_id.eq(self.tenant.as_str()))
            .filter(held_rows::token_id.eq(token.as_str()))
            .filter(held_rows::user_id.gt(after.map_or("", |user| user.as_str())))
            .order(held_rows::user_id)
            .limit(count.into())
            .select((held_rows::user_id, held_rows::deletes, held_rows::at));
        let found: Vec<(String, bool, NaiveDateTime)> = read!(self, c => query.load(c).await)?;
        found.iter().map(|(user, deletes, at)| read_held(user, *deletes, *at)).collect()
    }

    async fn count_held_removals(&mut self, token: &ScimTokenId) -> StoreResult<u64> {
        let query = held_rows::table
            .filter(held_rows::tenant_id.eq(self.tenant.as_str()))
            .filter(held_rows::token_id.eq(token.as_str()))
            .count();
        let count: i64 = read!(self, c => query.get_result(c).await)?;
        Ok(to_count(count))
    }

    async fn drop_held_removal(&mut self, token: &ScimTokenId, user: &UserId) -> StoreResult<()> {
        let row = held_rows::table.find((self.tenant.as_str(), token.as_str(), user.as_str()));
        change_unaudited!(self, Unaudited::PartOfChange, c => dsl::delete(row).execute(c).await)?;
        Ok(())
    }

    async fn drop_held_removals(&mut self, token: &ScimTokenId) -> StoreResult<()> {
        let held = held_rows::table
            .filter(held_rows::tenant_id.eq(self.tenant.as_str()))
            .filter(held_rows::token_id.eq(token.as_str()));
        change_unaudited!(self, Unaudited::PartOfChange, c => dsl::delete(held).execute(c).await)?;
        Ok(())
    }
}
