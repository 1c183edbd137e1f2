//! Limits concurrent large changes.
//!
//! The work of a large change grows with the tenant, for example a change of a group and its members. All changes
//! share SQLite's single writer or PostgreSQL's connections, so each tenant runs at most [`OF_TENANT`] large changes
//! at a time on one instance. Others wait, and fail after [`WAIT`].

use std::{sync::Arc, time::Duration};

use kernel::{StoreError, StoreResult, TenantId};
use tokio::time::timeout;

use super::tenant_limits::{TenantLimits, TenantTurn};

/// Concurrent large changes per tenant.
const OF_TENANT: usize = 2;
/// Large changes that may wait per tenant.
const WAITING: usize = 64;
/// How long a large change waits for its turn. Identity providers send changes of many groups at once and restart
/// from the beginning after an error, so waiting is cheaper than an error.
const WAIT: Duration = Duration::from_secs(5);

/// The large changes of one instance.
pub(crate) struct LargeChanges(pub(crate) Arc<TenantLimits>);

impl Default for LargeChanges {
    fn default() -> Self {
        Self(Arc::new(TenantLimits::new(OF_TENANT, WAITING)))
    }
}

impl LargeChanges {
    pub(crate) async fn turn(&self, tenant: &TenantId) -> StoreResult<TenantTurn> {
        let _place = self.0.queue.join();
        let turn = timeout(WAIT, self.0.turn(tenant)).await.ok().flatten();
        turn.ok_or(StoreError::TenantBusy("group changes"))
    }
}

#[cfg(test)]
mod tests {
    use kernel::{Id, SystemEnv};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn third_change_waits_and_is_refused_after_a_while() {
        let (changes, tenant) = (LargeChanges::default(), Id::new(&SystemEnv::default()));
        let running = (changes.turn(&tenant).await.unwrap(), changes.turn(&tenant).await.unwrap());
        assert!(matches!(changes.turn(&tenant).await, Err(StoreError::TenantBusy(_))));
        drop(running);
        assert!(changes.turn(&tenant).await.is_ok());
    }
}
