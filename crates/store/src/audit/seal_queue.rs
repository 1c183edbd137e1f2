//! The audit logs of all tenants, for a sealer.

use std::sync::Arc;

use ::audit::{
    Audited, Unaudited,
    log::{Lease, SealProgress, SealQueue, SealRules, UnsealedLog, seal},
};
use async_trait::async_trait;
use kernel::{Actor, Ctx, Env, StoreError, StoreResult, TenantId, Timestamp};

use crate::{Across, Store, Tx};

/// The audit logs of all tenants in the database. Each batch is one unit of work.
pub struct AuditLogQueue {
    store: Arc<Store>,
    env: Arc<dyn Env>,
    /// Returns the current rules. They change when keys are rotated.
    rules: Box<dyn Fn(Timestamp) -> SealRules + Send + Sync>,
}

impl AuditLogQueue {
    /// Creates a queue that seals with the rules that `rules` returns for the current time.
    pub fn new(
        store: Arc<Store>,
        env: Arc<dyn Env>,
        rules: impl Fn(Timestamp) -> SealRules + Send + Sync + 'static,
    ) -> Self {
        Self { store, env, rules: Box::new(rules) }
    }
}

#[async_trait]
impl SealQueue for AuditLogQueue {
    async fn next_unsealed(&self, after: Option<&TenantId>) -> StoreResult<Option<UnsealedLog>> {
        self.store.across(async |across: &mut Across| across.next_unsealed(after).await).await
    }

    async fn seal(
        &self,
        tenant: &TenantId,
        lease: Lease,
        after: Option<String>,
    ) -> StoreResult<SealProgress> {
        let rules = (self.rules)(lease.now);
        let ctx = Ctx::new(Arc::clone(&self.env), tenant.clone(), Actor::system("sealer"));
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
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
