//! Personal access tokens.

use async_trait::async_trait;
use diesel::{dsl, prelude::*};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp, UserId};
use tokens::{Pat, PatId, PatStore, pat::Limits};

use super::rows::PatRow;
use crate::{
    Tx,
    db::{change, read},
    prepared::Prepared,
    schema::{personal_access_tokens as rows, users},
};

#[async_trait]
impl PatStore for Tx {
    async fn insert_pat(&mut self, token: &Pat) -> StoreResult<()> {
        let row = PatRow {
            tenant_id: self.tenant.to_string(),
            id: token.id.to_string(),
            user_id: token.user.to_string(),
            name: token.name.clone(),
            scopes: token.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" "),
            hash: token.hash.as_bytes().to_vec(),
            created_at: token.created_at.naive(),
            expires_at: token.expires_at.map(Timestamp::naive),
            revoked_at: token.revoked_at.map(Timestamp::naive),
            last_used_at: token.last_used_at.map(Timestamp::naive),
            last_used_ip: token.last_used_ip.map(|ip| ip.to_string()),
        };
        let query = diesel::insert_into(rows::table).values(&row);
        change!(self, c => query.execute(c).await)?;
        Ok(())
    }

    async fn pats_of(&mut self, user: &UserId) -> StoreResult<Vec<Pat>> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::user_id.eq(user.as_str()))
            .filter(rows::revoked_at.is_null());
        let found: Vec<PatRow> = read!(self, c => query.select(PatRow::as_select()).load(c).await)?;
        let mut tokens = found.into_iter().map(Pat::try_from).collect::<Result<Vec<_>, _>>()?;
        tokens.sort_by(|a, b| b.id.cmp(&a.id));
        Ok(tokens)
    }

    async fn pat(&mut self, id: &PatId) -> StoreResult<Option<Pat>> {
        let query = rows::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<PatRow> =
            read!(self, c => query.select(PatRow::as_select()).first(c).await.optional())?;
        row.map(Pat::try_from).transpose()
    }

    async fn revoke_pat(&mut self, id: &PatId, at: Timestamp) -> StoreResult<bool> {
        let live = rows::table.find((self.tenant.as_str(), id.as_str())).filter(rows::revoked_at.is_null());
        let query = Prepared(dsl::update(live).set(rows::revoked_at.eq(at.naive())));
        let revoked = change!(self, c => query.execute(c).await)? == 1;
        Ok(revoked)
    }
}

impl Tx {
    /// Returns the tokens that expire between these times under these limits, with their owners' user names: soonest
    /// first, at most `count`. Leaves out tokens of disabled and deleted users.
    pub async fn expiring_pats(
        &mut self,
        from: Timestamp,
        until: Timestamp,
        limits: &Limits,
        count: usize,
    ) -> StoreResult<Vec<(Pat, String)>> {
        // Without a limit of the tenant, no token has this creation time.
        let limit = limits.max_days.map_or(0, |days| days * 24 * 3_600_000);
        let owners = users::table.on(users::tenant_id.eq(rows::tenant_id).and(users::id.eq(rows::user_id)));
        let own_end = rows::expires_at.gt(from.naive()).and(rows::expires_at.le(until.naive()));
        let created = (from.plus_millis(-limit).naive(), until.plus_millis(-limit).naive());
        let limited_end = rows::created_at.gt(created.0).and(rows::created_at.le(created.1)).nullable();
        let query = rows::table
            .inner_join(owners)
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::revoked_at.is_null())
            .filter(own_end.or(limited_end))
            .filter(users::active.eq(true))
            .filter(users::deleted_at.is_null());
        let found: Vec<(PatRow, String)> =
            read!(self, c => query.select((PatRow::as_select(), users::user_name)).load(c).await)?;
        let mut expiring = Vec::new();
        for (row, owner) in found {
            let token = Pat::try_from(row)?.within(limits);
            if token.expires_at.is_some_and(|end| from < end && end <= until) {
                expiring.push((token, owner));
            }
        }
        expiring.sort_by_key(|(token, _)| token.expires_at);
        expiring.truncate(count);
        Ok(expiring)
    }
}
