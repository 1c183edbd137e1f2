//! The audit logs of all tenants, for a sealer.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ::audit::{
    Audited, Unaudited,
    log::{Lease, SealProgress, SealQueue, SealRules, SealStore, UnsealedLog, seal},
};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use kernel::{Actor, Ctx, Env, StoreError, StoreResult, TenantId, Timestamp};

use crate::{Across, Store, Tx, shards::SWEEP};

/// The audit logs of all tenants in the database. Each batch is one unit of work.
pub struct AuditLogQueue {
    store: Arc<Store>,
    env: Arc<dyn Env>,
    /// Returns the current rules. They change when keys are rotated.
    rules: Arc<dyn Fn(Timestamp) -> SealRules + Send + Sync>,
    round: Mutex<Round>,
}

/// Logs that a round on a distributed database looks at concurrently.
const TOGETHER: usize = 8;

/// What a round on a distributed database visits.
#[derive(Default)]
struct Round {
    logs: BTreeMap<TenantId, UnsealedLog>,
    /// When all shards were asked last.
    swept: Option<Timestamp>,
}

impl AuditLogQueue {
    /// Creates a queue that seals with the rules that `rules` returns for the current time.
    pub fn new(
        store: Arc<Store>,
        env: Arc<dyn Env>,
        rules: impl Fn(Timestamp) -> SealRules + Send + Sync + 'static,
    ) -> Self {
        Self { store, env, rules: Arc::new(rules), round: Mutex::default() }
    }

    /// Finds the logs of a round on a distributed database: those with news, those of the last round that are not
    /// sealed yet, and now and then those of all shards. A node that does not answer delays only its own tenants.
    async fn begin_round(&self) {
        let now = self.env.now();
        let Round { logs: mut before, mut swept } = std::mem::take(&mut *self.round());
        let unsealed = |tenant, first| UnsealedLog { tenant, first, lease: None };
        let mut logs = BTreeMap::new();
        if swept.is_none_or(|at| now >= at.plus_millis(SWEEP)) {
            swept = Some(now);
            let look = async |across: &mut Across| across.unsealed_on_shards().await;
            match self.store.across(look).await {
                Ok(found) => logs.extend(
                    found.into_iter().map(|(tenant, first)| (tenant.clone(), unsealed(tenant, first))),
                ),
                Err(error) => tracing::warn!(%error, "unsealed entries cannot be searched on all shards"),
            }
        }
        let mut others: BTreeSet<TenantId> = before.keys().cloned().collect();
        others.extend(self.store.news());
        others.retain(|tenant| !logs.contains_key(tenant));
        let first = async |tenant: TenantId| {
            let look = async |tx: &mut Tx| tx.unsealed(None, 1).await;
            (tenant.clone(), self.store.read::<_, StoreError>(tenant, look).await)
        };
        let mut found = stream::iter(others).map(first).buffer_unordered(TOGETHER);
        while let Some((tenant, found)) = found.next().await {
            let log = match found {
                Ok(found) => found.into_iter().next().map(|first| unsealed(tenant.clone(), first.id)),
                Err(error) => {
                    tracing::debug!(%error, tenant = tenant.as_str(), "unsealed entries cannot be read");
                    before.remove(&tenant)
                }
            };
            logs.extend(log.map(|log| (tenant, log)));
        }
        *self.round() = Round { logs, swept };
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SealQueue for AuditLogQueue {
    async fn next_unsealed(&self, after: Option<&TenantId>) -> StoreResult<Option<UnsealedLog>> {
        if self.store.is_distributed().await? {
            if after.is_none() {
                self.begin_round().await;
            }
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            return Ok(self.round().logs.range((from, Bound::Unbounded)).next().map(|(_, log)| log.clone()));
        }
        self.store.across(async |across: &mut Across| across.next_unsealed(after).await).await
    }

    async fn seal(
        &self,
        tenant: &TenantId,
        lease: Lease,
        after: Option<String>,
    ) -> StoreResult<SealProgress> {
        let rules = Arc::clone(&self.rules);
        let ctx = Ctx::new(Arc::clone(&self.env), tenant.clone(), Actor::system("sealer"));
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            // Not before a connection is free, or a rotation meanwhile would make the keys stale.
            let rules = rules(lease.now);
            let done = seal(tx, rules.policy(), &ctx.tenant, &lease, after.as_deref()).await?;
            Ok::<_, StoreError>(Audited::without(done, Unaudited::Sealed))
        };
        self.store.write(ctx, work).await
    }

    async fn entry_time(&self, tenant: &TenantId, entry: &str) -> StoreResult<Option<Timestamp>> {
        let id = entry.to_owned();
        let look = async move |tx: &mut Tx| tx.entry(&id).await;
        let entry = self.store.read::<_, StoreError>(tenant.clone(), look).await?;
        Ok(entry.map(|entry| entry.timestamp))
    }
}
