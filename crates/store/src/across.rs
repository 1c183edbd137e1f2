//! What has to be found before the tenant is known. Reading only.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::Tenant;
use kernel::{StoreError, TenantId};
use tokens::{ScimToken, ScimTokenId, TokenHash};

use crate::{
    conn::{Conn, on},
    error::corrupt,
    schema::{scim_tokens, tenants},
    scim_tokens::ScimTokenRow,
    tenants::TenantRow,
};

/// Looks across tenants.
pub struct Across {
    pub(crate) conn: Conn,
}

impl Across {
    /// The token with this hash in the tenant that the token names, revoked or not: one query.
    pub async fn scim_token(
        &mut self,
        tenant: &TenantId,
        hash: &TokenHash,
    ) -> Result<Option<ScimToken>, StoreError> {
        let query = scim_tokens::table
            .filter(scim_tokens::tenant_id.eq(tenant.as_str()))
            .filter(scim_tokens::hash.eq(hash.as_bytes()));
        let row: Option<ScimTokenRow> =
            on!(&mut self.conn, c => query.select(ScimTokenRow::as_select()).first(c).await.optional())?;
        row.map(ScimToken::try_from).transpose()
    }

    /// Nothing: whether the database answers at all.
    pub async fn nothing(&mut self) -> Result<(), StoreError> {
        let query = diesel::select(diesel::dsl::sql::<diesel::sql_types::Integer>("1"));
        let _one: i32 = on!(&mut self.conn, c => query.get_result(c).await)?;
        Ok(())
    }

    /// The tenant of this id.
    pub async fn tenant(&mut self, id: &TenantId) -> Result<Option<Tenant>, StoreError> {
        let query = tenants::table.find(id.as_str());
        let row: Option<TenantRow> =
            on!(&mut self.conn, c => query.select(TenantRow::as_select()).first(c).await.optional())?;
        row.map(Tenant::try_from).transpose()
    }

    /// The tenant of this short name.
    pub async fn tenant_of_slug(&mut self, slug: &str) -> Result<Option<Tenant>, StoreError> {
        let query = tenants::table.filter(tenants::slug.eq(slug));
        let row: Option<TenantRow> =
            on!(&mut self.conn, c => query.select(TenantRow::as_select()).first(c).await.optional())?;
        row.map(Tenant::try_from).transpose()
    }

    /// The tenant that a token id belongs to. Asks every tenant: for the command line only.
    pub async fn tenant_of_scim_token(&mut self, id: &ScimTokenId) -> Result<Option<TenantId>, StoreError> {
        let query = scim_tokens::table.filter(scim_tokens::id.eq(id.as_str())).select(scim_tokens::tenant_id);
        let tenant: Option<String> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        tenant.map(|id| id.parse().map_err(|error| corrupt("scim_tokens.tenant_id", error))).transpose()
    }
}
