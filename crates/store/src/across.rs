//! Queries without a tenant: before it is known, or for background jobs of all tenants.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::Tenant;
use kernel::{StoreError, StoreResult, TenantId};
use tokens::{PatId, ScimTokenId};

use crate::{
    conn::{Conn, on},
    directory::tenants::{TenantRow, has_administrator},
    error::{corrupt, store_error},
    schema::{personal_access_tokens as pats, scim_tokens, tenant_slugs, tenants},
};

/// Reads across tenants, and purges expired rows of all tenants.
pub struct Across {
    pub(crate) conn: Conn,
    /// Whether the database is distributed by tenant. Background jobs then search each shard.
    pub(crate) is_distributed: bool,
}

impl Across {
    /// Reads nothing; fails if the file cannot be read.
    pub(crate) async fn nothing(&mut self) -> StoreResult<()> {
        let _count: i64 =
            on!(&mut self.conn, c => tenants::table.filter(tenants::id.eq("")).count().get_result(c).await)?;
        Ok(())
    }

    /// Returns an error if PostgreSQL is a standby or is set to read-only. SQLite always passes.
    pub(crate) async fn check_writable(&mut self) -> StoreResult<()> {
        let read_only = diesel::dsl::sql::<diesel::sql_types::Bool>(
            "pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean",
        );
        let Conn::Postgres(pg) = &mut self.conn else { return Ok(()) };
        let read_only: bool =
            diesel::select(read_only).get_result(&mut *pg.object).await.map_err(store_error)?;
        if read_only { Err(StoreError::Unavailable("the database is read-only".into())) } else { Ok(()) }
    }

    /// Returns whether an administrator exists in any tenant, even a disabled one.
    pub async fn has_administrator(&mut self) -> StoreResult<bool> {
        has_administrator(&mut self.conn).await
    }

    /// Returns the tenant with this id.
    pub async fn tenant(&mut self, id: &TenantId) -> StoreResult<Option<Tenant>> {
        let query = tenants::table.find(id.as_str());
        let row: Option<TenantRow> =
            on!(&mut self.conn, c => query.select(TenantRow::as_select()).first(c).await.optional())?;
        row.map(Tenant::try_from).transpose()
    }

    /// Returns the `most` oldest tenants.
    pub async fn some_tenants(&mut self, most: i64) -> StoreResult<Vec<Tenant>> {
        let query = tenants::table.order(tenants::id).limit(most);
        let rows: Vec<TenantRow> =
            on!(&mut self.conn, c => query.select(TenantRow::as_select()).load(c).await)?;
        rows.into_iter().map(Tenant::try_from).collect()
    }

    /// Returns the tenant with this slug.
    pub async fn tenant_of_slug(&mut self, slug: &str) -> StoreResult<Option<Tenant>> {
        let query = tenant_slugs::table.find(slug).select(tenant_slugs::tenant_id);
        let id: Option<String> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        let Some(id) = id else { return Ok(None) };
        self.tenant(&id.parse().map_err(|error| corrupt("tenant_slugs.tenant_id", error))?).await
    }

    /// Returns the tenant of a personal access token. Searches all tenants: only for the command line.
    pub async fn tenant_of_pat(&mut self, id: &PatId) -> StoreResult<Option<TenantId>> {
        let query = pats::table.filter(pats::id.eq(id.as_str())).select(pats::tenant_id);
        let tenant: Option<String> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        tenant.map(|id| id.parse().map_err(|error| corrupt("tenants.id", error))).transpose()
    }

    /// Returns the tenant of a SCIM token. Searches all tenants: only for the command line.
    pub async fn tenant_of_scim_token(&mut self, id: &ScimTokenId) -> StoreResult<Option<TenantId>> {
        let query = scim_tokens::table.filter(scim_tokens::id.eq(id.as_str())).select(scim_tokens::tenant_id);
        let tenant: Option<String> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        tenant.map(|id| id.parse().map_err(|error| corrupt("scim_tokens.tenant_id", error))).transpose()
    }
}
