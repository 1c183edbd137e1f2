//! How many large changes run at the same time.
//!
//! A large change is one whose work grows with the tenant: one of a group and its members. All changes share the one
//! writer of SQLite or the connections of PostgreSQL, so a tenant runs at most [`OF_TENANT`] large ones at a time on one
//! instance; others wait, and are refused after [`WAIT`].

use std::{sync::Arc, time::Duration};

use kernel::{StoreError, StoreResult, TenantId};
use tokio::time::timeout;

use super::tenant_limits::{TenantLimits, TenantTurn};

/// Large changes of one tenant at the same time.
const OF_TENANT: usize = 2;
/// Large changes of one tenant that may wait.
const WAITING: usize = 64;
/// How long one waits for its turn. Identity providers send the changes of many groups at once and repeat what was
/// refused from the beginning, so waiting is cheaper than a refusal.
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
        turn.ok_or(StoreError::TenantBusy("changes of groups"))
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
