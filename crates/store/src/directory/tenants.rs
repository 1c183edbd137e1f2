//! Tenants.

use async_trait::async_trait;
use chrono::NaiveDateTime;
use diesel::{dsl, prelude::*, sql_query, sql_types::Bool};
use diesel_async::RunQueryDsl;
use directory::{Tenant, TenantStore};
use kernel::{StoreError, StoreResult, Timestamp};
use sign_in::SetupStore;

use crate::{
    Tx,
    conn::{Conn, on},
    db::{change, read},
    dialect::Dialect,
    error::corrupt,
    schema::{tenant_slugs, tenants, users},
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = tenants, treat_none_as_default_value = false)]
pub(crate) struct TenantRow {
    id: String,
    slug: String,
    name: String,
    tier: String,
    created_at: NaiveDateTime,
}

impl TryFrom<TenantRow> for Tenant {
    type Error = StoreError;

    fn try_from(row: TenantRow) -> StoreResult<Self> {
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("tenants.id", error))?,
            slug: row.slug,
            name: row.name,
            tier: row.tier.parse().map_err(|error| corrupt("tenants.tier", error))?,
            created_at: Timestamp::from_naive(row.created_at),
        })
    }
}

#[async_trait]
impl TenantStore for Tx {
    async fn insert_tenant(&mut self, tenant: &Tenant) -> StoreResult<bool> {
        if tenant.id != self.tenant {
            return Err(StoreError::Aborted("the tenant differs from the tenant of the unit of work"));
        }
        let slug = (tenant_slugs::slug.eq(&tenant.slug), tenant_slugs::tenant_id.eq(tenant.id.as_str()));
        let query = diesel::insert_into(tenant_slugs::table).values(slug).on_conflict_do_nothing();
        if change!(self, c => query.execute(c).await)? == 0 {
            return Ok(false);
        }
        let row = TenantRow {
            id: tenant.id.to_string(),
            slug: tenant.slug.clone(),
            name: tenant.name.clone(),
            tier: tenant.tier.as_str().to_owned(),
            created_at: tenant.created_at.naive(),
        };
        let query = diesel::insert_into(tenants::table).values(&row).on_conflict_do_nothing();
        let inserted = change!(self, c => query.execute(c).await)? == 1;
        Ok(inserted)
    }

    async fn own_tenant(&mut self) -> StoreResult<Option<Tenant>> {
        let query = tenants::table.find(self.tenant.as_str());
        let row: Option<TenantRow> =
            read!(self, c => query.select(TenantRow::as_select()).first(c).await.optional())?;
        row.map(Tenant::try_from).transpose()
    }

    async fn rename_tenant(&mut self, name: &str) -> StoreResult<()> {
        let query = diesel::update(tenants::table.find(self.tenant.as_str())).set(tenants::name.eq(name));
        change!(self, c => query.execute(c).await)?;
        Ok(())
    }
}

#[async_trait]
impl SetupStore for Tx {
    async fn any_administrator(&mut self) -> StoreResult<bool> {
        if self.db.dialect() == Dialect::Postgres {
            // SQLite runs one unit of work that writes at a time.
            let lock = sql_query("SELECT pg_advisory_xact_lock(7061746569)");
            read!(self, c => lock.execute(c).await)?;
        }
        has_administrator(self.db.reading().await?).await
    }
}

/// Returns whether an administrator exists in any tenant, even a disabled one.
pub(crate) async fn has_administrator(conn: &mut Conn) -> StoreResult<bool> {
    let query = users::table
        // A literal instead of a parameter, so that the planner can use the partial index on administrators.
        .filter(dsl::sql::<Bool>("users.role = 'ADMIN'"))
        .filter(users::deleted_at.is_null())
        .select(users::id);
    let found: Option<String> = on!(conn, c => query.first(c).await.optional())?;
    Ok(found.is_some())
}
