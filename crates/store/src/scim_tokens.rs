//! SCIM tokens.

use async_trait::async_trait;
use chrono::NaiveDateTime;
use diesel::{dsl, prelude::*};
use diesel_async::RunQueryDsl;
use kernel::{StoreError, Timestamp};
use tokens::{ScimToken, ScimTokenId, ScimTokenStore, TokenHash};

use crate::{
    Tx,
    db::{change, read},
    error::corrupt,
    kept::Kept,
    schema::scim_tokens,
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = scim_tokens, treat_none_as_default_value = false)]
pub(crate) struct ScimTokenRow {
    tenant_id: String,
    id: String,
    name: String,
    hash: Vec<u8>,
    create_conflict: bool,
    created_at: NaiveDateTime,
    revoked_at: Option<NaiveDateTime>,
    last_used_at: Option<NaiveDateTime>,
    last_used_ip: Option<String>,
}

impl TryFrom<ScimTokenRow> for ScimToken {
    type Error = StoreError;

    fn try_from(row: ScimTokenRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("scim_tokens.id", error))?,
            name: row.name,
            hash: TokenHash::from_bytes(&row.hash)
                .ok_or_else(|| corrupt("scim_tokens.hash", "not 32 bytes"))?,
            create_conflict: row.create_conflict,
            created_at: Timestamp::from_naive(row.created_at),
            revoked_at: row.revoked_at.map(Timestamp::from_naive),
            last_used_at: row.last_used_at.map(Timestamp::from_naive),
            last_used_ip: row.last_used_ip.and_then(|ip| ip.parse().ok()),
        })
    }
}

#[async_trait]
impl ScimTokenStore for Tx {
    async fn insert_scim_token(&mut self, token: &ScimToken) -> Result<(), StoreError> {
        let row = ScimTokenRow {
            tenant_id: self.tenant.to_string(),
            id: token.id.to_string(),
            name: token.name.clone(),
            hash: token.hash.as_bytes().to_vec(),
            create_conflict: token.create_conflict,
            created_at: token.created_at.naive(),
            revoked_at: token.revoked_at.map(Timestamp::naive),
            last_used_at: token.last_used_at.map(Timestamp::naive),
            last_used_ip: token.last_used_ip.map(|ip| ip.to_string()),
        };
        let query = diesel::insert_into(scim_tokens::table).values(&row);
        change!(self, c => query.execute(c).await)?;
        Ok(())
    }

    async fn scim_token(&mut self, id: &ScimTokenId) -> Result<Option<ScimToken>, StoreError> {
        let query = scim_tokens::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<ScimTokenRow> =
            read!(self, c => query.select(ScimTokenRow::as_select()).first(c).await.optional())?;
        row.map(ScimToken::try_from).transpose()
    }

    async fn scim_tokens(&mut self) -> Result<Vec<ScimToken>, StoreError> {
        let query = scim_tokens::table
            .filter(scim_tokens::tenant_id.eq(self.tenant.as_str()))
            .filter(scim_tokens::revoked_at.is_null())
            .order(scim_tokens::id.desc());
        let rows: Vec<ScimTokenRow> =
            read!(self, c => query.select(ScimTokenRow::as_select()).load(c).await)?;
        rows.into_iter().map(ScimToken::try_from).collect()
    }

    async fn revoke_scim_token(&mut self, id: &ScimTokenId, at: Timestamp) -> Result<bool, StoreError> {
        let live = scim_tokens::table
            .find((self.tenant.as_str(), id.as_str()))
            .filter(scim_tokens::revoked_at.is_null());
        let query = Kept(dsl::update(live).set(scim_tokens::revoked_at.eq(at.naive())));
        let revoked = change!(self, c => query.execute(c).await)? == 1;
        Ok(revoked)
    }
}
