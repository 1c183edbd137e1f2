//! What has to be found before the tenant is known. Reading only.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::Tenant;
use kernel::{StoreError, StoreResult, TenantId};
use tokens::{PatId, ScimTokenId};

use crate::{
    conn::{Conn, on},
    directory::tenants::TenantRow,
    error::{corrupt, store_error},
    schema::{personal_access_tokens as pats, scim_tokens, tenants},
};

/// Looks across tenants.
pub struct Across {
    pub(crate) conn: Conn,
}

impl Across {
    /// Nothing: whether the file can be read at all.
    pub(crate) async fn nothing(&mut self) -> StoreResult<()> {
        let _count: i64 =
            on!(&mut self.conn, c => tenants::table.filter(tenants::id.eq("")).count().get_result(c).await)?;
        Ok(())
    }

    /// Whether the database takes changes: one that follows another, or is set to read only, does not.
    pub(crate) async fn takes_changes(&mut self) -> StoreResult<()> {
        let read_only = diesel::dsl::sql::<diesel::sql_types::Bool>(
            "pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean",
        );
        let Conn::Postgres(pg) = &mut self.conn else { return Ok(()) };
        let read_only: bool =
            diesel::select(read_only).get_result(&mut *pg.object).await.map_err(store_error)?;
        if read_only { Err(StoreError::Unavailable("the database is read only".into())) } else { Ok(()) }
    }

    /// The tenant of this id.
    pub async fn tenant(&mut self, id: &TenantId) -> StoreResult<Option<Tenant>> {
        let query = tenants::table.find(id.as_str());
        let row: Option<TenantRow> =
            on!(&mut self.conn, c => query.select(TenantRow::as_select()).first(c).await.optional())?;
        row.map(Tenant::try_from).transpose()
    }

    /// The tenants that were made first, so many at most: for the command line only.
    pub async fn some_tenants(&mut self, most: i64) -> StoreResult<Vec<Tenant>> {
        let query = tenants::table.order(tenants::id).limit(most);
        let rows: Vec<TenantRow> =
            on!(&mut self.conn, c => query.select(TenantRow::as_select()).load(c).await)?;
        rows.into_iter().map(Tenant::try_from).collect()
    }

    /// The tenant of this short name.
    pub async fn tenant_of_slug(&mut self, slug: &str) -> StoreResult<Option<Tenant>> {
        let query = tenants::table.filter(tenants::slug.eq(slug));
        let row: Option<TenantRow> =
            on!(&mut self.conn, c => query.select(TenantRow::as_select()).first(c).await.optional())?;
        row.map(Tenant::try_from).transpose()
    }

    /// The tenant that a personal access token's id belongs to. Asks every tenant: for the command line only.
    pub async fn tenant_of_pat(&mut self, id: &PatId) -> StoreResult<Option<TenantId>> {
        let query = pats::table.filter(pats::id.eq(id.as_str())).select(pats::tenant_id);
        let tenant: Option<String> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        tenant.map(|id| id.parse().map_err(|error| corrupt("tenants.id", error))).transpose()
    }

    /// The tenant that a token id belongs to. Asks every tenant: for the command line only.
    pub async fn tenant_of_scim_token(&mut self, id: &ScimTokenId) -> StoreResult<Option<TenantId>> {
        let query = scim_tokens::table.filter(scim_tokens::id.eq(id.as_str())).select(scim_tokens::tenant_id);
        let tenant: Option<String> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        tenant.map(|id| id.parse().map_err(|error| corrupt("scim_tokens.tenant_id", error))).transpose()
    }
}
