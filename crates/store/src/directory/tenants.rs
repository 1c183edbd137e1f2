//! Tenants.

use async_trait::async_trait;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::{Tenant, TenantStore};
use kernel::{StoreError, StoreResult, Timestamp};

use crate::{Tx, db::change, error::corrupt, schema::tenants};

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
}
