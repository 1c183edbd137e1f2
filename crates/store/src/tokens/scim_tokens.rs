//! SCIM tokens.

use async_trait::async_trait;
use diesel::{dsl, prelude::*};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};
use tokens::{ScimToken, ScimTokenId, ScimTokenStore, removals::RemovalStore};

use super::rows::ScimTokenRow;
use crate::{
    Tx,
    db::{change, read},
    prepared::Prepared,
    schema::scim_tokens,
};

#[async_trait]
impl ScimTokenStore for Tx {
    async fn insert_scim_token(&mut self, token: &ScimToken) -> StoreResult<()> {
        let row = ScimTokenRow {
            tenant_id: self.tenant.to_string(),
            id: token.id.to_string(),
            name: token.name.clone(),
            hash: token.hash.as_bytes().to_vec(),
            create_conflict: token.create_conflict,
            dry_run: token.dry_run,
            removals_paused_at: token.removals_paused_at.map(Timestamp::naive),
            created_at: token.created_at.naive(),
            revoked_at: token.revoked_at.map(Timestamp::naive),
            last_used_at: token.last_used_at.map(Timestamp::naive),
            last_used_ip: token.last_used_ip.map(|ip| ip.to_string()),
        };
        let query = diesel::insert_into(scim_tokens::table).values(&row);
        change!(self, c => query.execute(c).await)?;
        Ok(())
    }

    async fn scim_token(&mut self, id: &ScimTokenId) -> StoreResult<Option<ScimToken>> {
        let query = scim_tokens::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<ScimTokenRow> =
            read!(self, c => query.select(ScimTokenRow::as_select()).first(c).await.optional())?;
        row.map(ScimToken::try_from).transpose()
    }

    async fn scim_tokens(&mut self) -> StoreResult<Vec<ScimToken>> {
        let query = scim_tokens::table
            .filter(scim_tokens::tenant_id.eq(self.tenant.as_str()))
            .filter(scim_tokens::revoked_at.is_null())
            .order(scim_tokens::id.desc());
        let rows: Vec<ScimTokenRow> =
            read!(self, c => query.select(ScimTokenRow::as_select()).load(c).await)?;
        rows.into_iter().map(ScimToken::try_from).collect()
    }

    async fn revoke_scim_token(&mut self, id: &ScimTokenId, at: Timestamp) -> StoreResult<bool> {
        let live = scim_tokens::table
            .find((self.tenant.as_str(), id.as_str()))
            .filter(scim_tokens::revoked_at.is_null());
        let query = Prepared(dsl::update(live).set(scim_tokens::revoked_at.eq(at.naive())));
        let revoked = change!(self, c => query.execute(c).await)? == 1;
        if revoked {
            self.drop_held_removals(id).await?;
            self.drop_dry_run(id).await?;
        }
        Ok(revoked)
    }
}
