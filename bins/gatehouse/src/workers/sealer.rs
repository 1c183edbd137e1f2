//! Seals audit logs every second, independently of requests. Only tenants with unsealed entries are visited.
//!
//! Every instance takes part. The instance with the lease of a tenant's log continues it, and keeps the lease while
//! it
//! seals. The database prevents concurrent sealing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use actix_web::web;
use audit::{
    Audited, MacProblem, Unaudited,
    log::{AT_ONCE, Lease, SealPolicy, seal},
};
use futures_util::{StreamExt, stream};
use kernel::{Actor, Ctx, Env, Id, Kind, StoreError, StoreResult, TenantId};
use store::{Across, Store, Tx};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::seal_backlog::SealBacklog;
use crate::{api::Site, area_metrics};

/// Polling interval.
const EVERY: Duration = Duration::from_secs(1);
/// Milliseconds after a batch during which other instances do not seal the same log.
const LEASE: i64 = 3_000;
/// Logs that are sealed concurrently.
const TOGETHER: usize = 4;
/// Maximum batches per tenant and round, so that other tenants are not delayed.
const OF_A_TENANT: usize = 32;
/// Time limit of the last round at shutdown.
const LAST: Duration = Duration::from_secs(5);
/// Maximum tenants per round.
const OF_A_ROUND: usize = 10_000;

/// Prefix of sealer IDs.
enum SealerKind {}
impl Kind for SealerKind {
    const PREFIX: &'static str = "sea";
}

/// The worker that seals audit logs.
pub(crate) struct Sealer {
    store: Arc<Store>,
    env: Arc<dyn Env>,
    site: web::Data<Site>,
    owner: String,
    /// Tenants with entries that remained unsealed after a round.
    unfinished: Mutex<HashMap<TenantId, SealRemainder>>,
    waits: SealBacklog,
}

/// Progress through the unsealed entries of a tenant.
#[derive(Clone, Default)]
struct SealRemainder {
    /// Where the next round continues, if one round could not pass all refused entries.
    after: Option<String>,
    /// Entries refused in this pass so far.
    refused: usize,
    /// Number of refused entries in the last log line.
    logged: usize,
}

impl Sealer {
    pub(crate) fn new(store: Arc<Store>, env: Arc<dyn Env>, site: web::Data<Site>) -> Self {
        let owner = Id::<SealerKind>::new(&*env).to_string();
        Self { store, env, site, owner, unfinished: Mutex::default(), waits: SealBacklog::default() }
    }

    /// Seals until it is dropped.
    pub(crate) async fn run(&self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            while self.round(LEASE).await {}
        }
    }

    /// Seals the pending entries once more at shutdown, and releases its leases.
    pub(crate) async fn finish(&self) {
        if timeout(LAST, self.round(0)).await.is_err() {
            tracing::info!("entries are still unsealed; another instance or the next start seals them");
        }
    }

    /// Runs one round. Returns whether entries remain because of its limits.
    async fn round(&self, lease: i64) -> bool {
        let tenants = match self.due().await {
            Ok(tenants) => tenants,
            Err(error) => {
                area_metrics::sealing_failed();
                tracing::warn!(%error, "audit logs with unsealed entries could not be listed");
                return false;
            }
        };
        let seal = async |tenant: TenantId| match self.seal(&tenant, lease).await {
            Ok(more) => more,
            Err(error) => {
                area_metrics::sealing_failed();
                tracing::warn!(%error, tenant = tenant.as_str(), "an audit log could not be sealed");
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
            let last: Option<TenantId> = after.clone();
            let look = async move |across: &mut Across| across.next_unsealed(last.as_ref()).await;
            let Some(waiting) = self.store.across(look).await? else { break };
            after = Some(waiting.tenant.clone());
            if waiting.lease.as_ref().is_none_or(|(owner, until)| own.may_take(owner, *until)) {
                tenants.push(waiting.tenant.clone());
            }
            all.push(waiting);
        }
        self.waits.measure(&self.store, now, &all).await;
        Ok(tenants)
    }

    /// Seals the pending entries of a tenant. Returns whether entries remain because of the batch limit.
    async fn seal(&self, tenant: &TenantId, lease: i64) -> StoreResult<bool> {
        let mut state = self.state(tenant);
        let mut problem = None;
        for _ in 0..OF_A_TENANT {
            let (keys, entries, now) =
                (self.site.pipeline.keys.checkpoints(), self.site.pipeline.keys.entry_keys(), self.env.now());
            let accepts_missing_macs =
                self.site.audit.accept_missing_macs_until.is_some_and(|until| now < until);
            let lease = Lease { owner: self.owner.clone(), now, until: now.plus_millis(lease) };
            let ctx = Ctx::new(Arc::clone(&self.env), tenant.clone(), Actor::system("sealer"));
            let after = state.after.take();
            let work = async move |ctx: &Ctx, tx: &mut Tx| {
                let policy = SealPolicy { checkpoints: &keys, entries: &entries, accepts_missing_macs };
                let done = seal(tx, policy, &ctx.tenant, &lease, after.as_deref()).await?;
                Ok::<_, StoreError>(Audited::without(done, Unaudited::Sealed))
            };
            let done = self.store.write(ctx, work).await?;
            area_metrics::sealed(done.count);
            state.refused += done.refused.len();
            problem = problem.or_else(|| done.refused.into_iter().next());
            if done.seen < AT_ONCE {
                self.finish_tenant(tenant, &state, problem);
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
        if state.after.is_some() || state.logged > 0 {
            unfinished.insert(tenant.clone(), state);
        } else {
            unfinished.remove(tenant);
        }
        area_metrics::unauthenticated(unfinished.values().map(|state| state.logged).sum());
    }

    /// Ends a pass over all pending entries, and logs the number of refused ones if it changed.
    fn finish_tenant(&self, tenant: &TenantId, state: &SealRemainder, first: Option<(String, MacProblem)>) {
        if state.refused > 0 && state.refused != state.logged {
            let (first, problem) = first.unzip();
            tracing::error!(
                tenant = tenant.as_str(),
                entries = state.refused,
                first,
                problem = problem.map(|problem| problem.to_string()),
                "audit entries are not sealed, because their MACs are missing or wrong; list them with gatehouse audit verify"
            );
        }
        self.remember(tenant, SealRemainder { after: None, refused: 0, logged: state.refused });
    }
}
