//! Turns of tenants: how many pieces of one kind of work a tenant runs at the same time on one instance.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use kernel::TenantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::queue_status::QueueStatus;

/// The turns of all tenants.
pub(crate) struct TenantLimits {
    /// Pieces of work of one tenant at the same time.
    running: usize,
    /// Pieces of work of one tenant that may wait.
    waiting: usize,
    tenants: Mutex<HashMap<TenantId, TenantSlots>>,
    /// Work that waits for a turn.
    pub(crate) queue: Arc<QueueStatus>,
}

/// The turns of one tenant, as long as some work has one or waits for one.
struct TenantSlots {
    turns: Arc<Semaphore>,
    users: usize,
}

/// The right of a tenant to run a piece of work; given up when dropped.
pub struct TenantTurn {
    _presence: TenantPresence,
    _turn: OwnedSemaphorePermit,
}

/// Presence among a tenant's work; given up when dropped.
struct TenantPresence {
    turns: Arc<TenantLimits>,
    tenant: TenantId,
}

impl TenantLimits {
    /// `running` at the same time for each tenant, while `waiting` more may wait.
    pub(crate) fn new(running: usize, waiting: usize) -> Self {
        Self { running, waiting, tenants: Mutex::default(), queue: Arc::default() }
    }

    /// Waits for a turn. `None` at once where too many of the tenant's wait.
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
    fn waiting_work_of_a_tenant_has_a_bound_and_leaves_nothing_behind() {
        let tenant: TenantId = Id::new(&SystemEnv::default());
        let turns = Arc::new(TenantLimits::new(2, 3));
        let mut all: Vec<_> = (0..5).map(|_| Box::pin(turns.turn(&tenant))).collect();
        let running: Vec<_> = all.iter_mut().filter_map(|one| one.as_mut().now_or_never()).collect();
        assert_eq!(running.iter().filter(|turn| turn.is_some()).count(), 2);
        assert!(matches!(turns.turn(&tenant).now_or_never(), Some(None)), "refused at once");
        let neighbour: TenantId = Id::new(&SystemEnv::default());
        assert!(matches!(turns.turn(&neighbour).now_or_never(), Some(Some(_))));
        drop((running, all));
        assert!(turns.tenants.lock().unwrap().is_empty());
    }
}
