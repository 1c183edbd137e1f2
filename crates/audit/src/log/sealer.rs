//! Seals the logs of all tenants, round after round.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{StreamExt, stream};
use kernel::{Env, Id, Kind, StoreResult, TenantId};

use super::{
    backlog::SealBacklog,
    observer::SealObserver,
    seal::{AT_ONCE, Lease},
};
use crate::{MacProblem, store::SealQueue};

/// Milliseconds after a batch during which other sealers do not seal the same log.
const LEASE: i64 = 3_000;
/// Logs that are sealed concurrently.
const TOGETHER: usize = 4;
/// Maximum batches per tenant and round, so that other tenants are not delayed.
const OF_A_TENANT: usize = 32;
/// Maximum tenants per round.
const OF_A_ROUND: usize = 10_000;

/// Prefix of sealer ids.
enum SealerKind {}
impl Kind for SealerKind {
    const PREFIX: &'static str = "sea";
}

/// Seals the logs of all tenants. Only tenants with unsealed entries are visited.
///
/// Several sealers may run at the same time. The one with the lease of a tenant's log continues it, and keeps the
/// lease while it seals. Storage prevents concurrent sealing.
pub struct Sealer {
    queue: Arc<dyn SealQueue>,
    observer: Arc<dyn SealObserver>,
    env: Arc<dyn Env>,
    owner: String,
    /// Tenants with entries that remained unsealed after a round.
    unfinished: Mutex<HashMap<TenantId, SealRemainder>>,
    backlog: SealBacklog,
}

/// Progress through the unsealed entries of a tenant.
#[derive(Clone, Default)]
struct SealRemainder {
    /// Where the next round continues, if one round could not pass all refused entries.
    after: Option<String>,
    /// Entries refused in this pass so far.
    refused: usize,
    /// Number of refused entries that was reported last.
    reported: usize,
}

impl Sealer {
    /// Creates a sealer with an id of its own.
    pub fn new(queue: Arc<dyn SealQueue>, observer: Arc<dyn SealObserver>, env: Arc<dyn Env>) -> Self {
        let owner = Id::<SealerKind>::new(&*env).to_string();
        Self { queue, observer, env, owner, unfinished: Mutex::default(), backlog: SealBacklog::default() }
    }

    /// Runs one round. Returns whether entries remain because of its limits.
    pub async fn round(&self) -> bool {
        self.round_with(LEASE).await
    }

    /// Runs one round and releases the leases.
    pub async fn last_round(&self) {
        self.round_with(0).await;
    }

    async fn round_with(&self, lease: i64) -> bool {
        let tenants = match self.due().await {
            Ok(tenants) => tenants,
            Err(error) => {
                self.observer.failed(None, &error);
                return false;
            }
        };
        let seal = async |tenant: TenantId| match self.seal(&tenant, lease).await {
            Ok(more) => more,
            Err(error) => {
                self.observer.failed(Some(&tenant), &error);
                false
            }
        };
        let sealed = stream::iter(tenants).map(seal).buffer_unordered(TOGETHER);
        sealed.fold(false, async |any, more| any || more).await
    }

    /// Returns the tenants with unsealed entries whose lease is free.
    async fn due(&self) -> StoreResult<Vec<TenantId>> {
        let (mut tenants, mut after, mut all) = (Vec::new(), None, Vec::new());
        let now = self.env.now();
        let own = Lease { owner: self.owner.clone(), now, until: now };
        while all.len() < OF_A_ROUND {
            let Some(waiting) = self.queue.next_unsealed(after.as_ref()).await? else { break };
            after = Some(waiting.tenant.clone());
            if waiting.lease.as_ref().is_none_or(|(owner, until)| own.may_take(owner, *until)) {
                tenants.push(waiting.tenant.clone());
            }
            all.push(waiting);
        }
        self.backlog.measure(&*self.queue, &*self.observer, now, &all).await;
        Ok(tenants)
    }

    /// Seals the pending entries of a tenant. Returns whether entries remain because of the batch limit.
    async fn seal(&self, tenant: &TenantId, lease: i64) -> StoreResult<bool> {
        let mut state = self.state(tenant);
        let mut problem = None;
        for _ in 0..OF_A_TENANT {
            let now = self.env.now();
            let lease = Lease { owner: self.owner.clone(), now, until: now.plus_millis(lease) };
            let done = self.queue.seal(tenant, lease, state.after.take()).await?;
            self.observer.sealed(done.count);
            state.refused += done.refused.len();
            problem = problem.or_else(|| done.refused.into_iter().next());
            if done.seen < AT_ONCE {
                self.finish_pass(tenant, &state, problem.as_ref());
                return Ok(false);
            }
            state.after = done.last;
        }
        self.remember(tenant, state);
        Ok(true)
    }

    fn state(&self, tenant: &TenantId) -> SealRemainder {
        let unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        unfinished.get(tenant).cloned().unwrap_or_default()
    }

    fn remember(&self, tenant: &TenantId, state: SealRemainder) {
        let mut unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        if state.after.is_some() || state.reported > 0 {
            unfinished.insert(tenant.clone(), state);
        } else {
            unfinished.remove(tenant);
        }
        self.observer.unauthenticated(unfinished.values().map(|state| state.reported).sum());
    }

    /// Ends a pass over all pending entries, and reports the number of refused ones if it changed.
    fn finish_pass(&self, tenant: &TenantId, state: &SealRemainder, first: Option<&(String, MacProblem)>) {
        if state.refused > 0 && state.refused != state.reported {
            self.observer.refused(tenant, state.refused, first);
        }
        self.remember(tenant, SealRemainder { after: None, refused: 0, reported: state.refused });
    }
}
