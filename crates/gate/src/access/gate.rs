//! What a worker serves with.

use std::sync::Arc;

use directory::Tier;
use kernel::{Actor, Ctx, Env, StoreResult, TenantId};
use store::Store;
use tokio_util::task::TaskTracker;

use super::request_identity::RequestOrigin;

/// What a worker serves with.
pub struct Gate {
    pub(crate) store: Store,
    pub(crate) env: Arc<dyn Env>,
    /// What is entered in the ledger while no answer waits for it.
    pub(crate) entering: TaskTracker,
}

impl Gate {
    /// A door to `store`. `entering` knows what is being entered while no answer waits for it.
    pub fn new(store: Store, env: Arc<dyn Env>, entering: TaskTracker) -> Self {
        Self { store, env, entering }
    }

    /// Where time and randomness come from.
    pub fn env(&self) -> &dyn Env {
        &*self.env
    }

    /// What the tenant pays for; the least of all where that is not known.
    pub(crate) async fn tier(&self, tenant: &TenantId) -> StoreResult<Tier> {
        let find = async |across: &mut store::Across| across.tenant(tenant).await;
        Ok(self.store.across(find).await?.map_or(Tier::Free, |tenant| tenant.tier))
    }

    /// The context of an operation of this request.
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
