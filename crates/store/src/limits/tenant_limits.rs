//! Limits concurrent work per tenant on one instance.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use kernel::TenantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::queue_status::QueueStatus;

/// The limits and queues of all tenants.
pub(crate) struct TenantLimits {
    /// Concurrent units of work per tenant.
    running: usize,
    /// Units of work that may wait per tenant.
    waiting: usize,
    tenants: Mutex<HashMap<TenantId, TenantSlots>>,
    /// Metrics of waiting work.
    pub(crate) queue: Arc<QueueStatus>,
}

/// The state of one tenant, kept while any of its work runs or waits.
struct TenantSlots {
    turns: Arc<Semaphore>,
    users: usize,
}

/// A tenant's permission to run a unit of work, released on drop.
pub struct TenantTurn {
    _presence: TenantPresence,
    _turn: OwnedSemaphorePermit,
}

/// Counts a unit of work among a tenant's, until dropped.
struct TenantPresence {
    turns: Arc<TenantLimits>,
    tenant: TenantId,
}

impl TenantLimits {
    /// Allows `running` concurrent units of work per tenant, and `waiting` more to wait.
    pub(crate) fn new(running: usize, waiting: usize) -> Self {
        Self { running, waiting, tenants: Mutex::default(), queue: Arc::default() }
    }

    /// Waits for a turn. Returns `None` at once if too many of the tenant's units of work are waiting.
    pub(crate) async fn turn(self: &Arc<Self>, tenant: &TenantId) -> Option<TenantTurn> {
        let (presence, turns) = self.join(tenant)?;
        let turn = turns.acquire_owned().await.ok()?;
        Some(TenantTurn { _presence: presence, _turn: turn })
    }

    fn join(self: &Arc<Self>, tenant: &TenantId) -> Option<(TenantPresence, Arc<Semaphore>)> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let of_tenant = tenants
            .entry(tenant.clone())
            .or_insert_with(|| TenantSlots { turns: Arc::new(Semaphore::new(self.running)), users: 0 });
        if of_tenant.users >= self.running + self.waiting {
            return None;
        }
        of_tenant.users += 1;
        Some((
            TenantPresence { turns: Arc::clone(self), tenant: tenant.clone() },
            Arc::clone(&of_tenant.turns),
        ))
    }
}

impl Drop for TenantPresence {
    fn drop(&mut self) {
        let mut tenants = self.turns.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_tenant) = tenants.get_mut(&self.tenant) {
            of_tenant.users -= 1;
            if of_tenant.users == 0 {
                tenants.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use kernel::{Id, SystemEnv};

    use super::*;

    #[test]
    fn waiting_work_of_a_tenant_is_limited_and_cleaned_up() {
        let tenant: TenantId = Id::new(&SystemEnv::default());
        let turns = Arc::new(TenantLimits::new(2, 3));
        let mut all: Vec<_> = (0..5).map(|_| Box::pin(turns.turn(&tenant))).collect();
        let running: Vec<_> = all.iter_mut().filter_map(|one| one.as_mut().now_or_never()).collect();
        assert_eq!(running.iter().filter(|turn| turn.is_some()).count(), 2);
        assert!(matches!(turns.turn(&tenant).now_or_never(), Some(None)), "rejected at once");
        let neighbour: TenantId = Id::new(&SystemEnv::default());
        assert!(matches!(turns.turn(&neighbour).now_or_never(), Some(Some(_))));
        drop((running, all));
        assert!(turns.tenants.lock().unwrap().is_empty());
    }
}
