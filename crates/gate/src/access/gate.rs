//! The state that a worker's handlers share.

use std::sync::Arc;

use directory::Tier;
use kernel::{Actor, Ctx, Env, StoreResult, TenantId};
use store::Store;
use tokio_util::task::TaskTracker;

use super::request_identity::RequestOrigin;

/// The state that a worker's handlers share.
pub struct Gate {
    pub(crate) store: Store,
    pub(crate) env: Arc<dyn Env>,
    /// Tracks audit entries that are recorded in the background.
    pub(crate) entering: TaskTracker,
}

impl Gate {
    /// Creates the gate to `store`. `entering` tracks audit entries that are recorded in the background.
    pub fn new(store: Store, env: Arc<dyn Env>, entering: TaskTracker) -> Self {
        Self { store, env, entering }
    }

    /// Returns the source of time and randomness.
    pub fn env(&self) -> &dyn Env {
        &*self.env
    }

    /// Returns the tenant's tier, or the lowest if the tenant is unknown.
    pub(crate) async fn tier(&self, tenant: &TenantId) -> StoreResult<Tier> {
        let find = async |across: &mut store::Across| across.tenant(tenant).await;
        Ok(self.store.across(find).await?.map_or(Tier::Free, |tenant| tenant.tier))
    }

    /// Returns whether the server has an administrator, so that its pages can offer the setup.
    pub async fn has_administrator(&self) -> StoreResult<bool> {
        self.store.across(async |across: &mut store::Across| across.has_administrator().await).await
    }

    /// Returns whether the server has no tenant yet.
    pub async fn is_new(&self) -> StoreResult<bool> {
        let tenants =
            self.store.across(async |across: &mut store::Across| across.some_tenants(1).await).await?;
        Ok(tenants.is_empty())
    }

    /// Creates the context of an operation of this request.
    pub(crate) fn ctx(&self, tenant: TenantId, actor: Actor, arrival: &RequestOrigin) -> Ctx {
        Ctx {
            tenant,
            actor,
            request_id: Some(arrival.request_id.clone()),
            trace: Some(arrival.trace.clone()),
            ip: arrival.ip,
            now: self.env.now(),
            env: Arc::clone(&self.env),
        }
    }
}
