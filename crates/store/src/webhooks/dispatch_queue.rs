//! The queue that a dispatcher delivers from.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use ::webhooks::{Batch, DisabledSubscription, Key, Lease, LeaseOutcome, Queue};
use async_trait::async_trait;
use audit::{Audited, Event, Unaudited, events::webhooks::WebhookDisabled};
use kernel::{Ctx, Env, StoreError, StoreResult, TenantId, Timestamp};

use super::ctx;
use crate::{Across, Store, Tx};

/// Maximum subscriptions with new events per poll.
const AT_ONCE: usize = 500;

/// Maximum subscriptions with due retries per poll.
const RETRIES: i64 = 1_000;

/// The delivery queue of all tenants in the database.
pub struct DispatchQueue {
    store: Arc<Store>,
    env: Arc<dyn Env>,
    after: Mutex<ResumePoints>,
}

/// Where the next poll continues if the previous one reached its limit.
#[derive(Default, Clone)]
struct ResumePoints {
    fresh: Option<Key>,
    retries: Option<(Timestamp, Key)>,
}

impl DispatchQueue {
    /// Creates a queue that starts at the first tenant.
    pub fn new(store: Arc<Store>, env: Arc<dyn Env>) -> Self {
        Self { store, env, after: Mutex::default() }
    }

    fn after(&self) -> ResumePoints {
        self.after.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Queue for DispatchQueue {
    async fn due(&self, lease: &Lease) -> StoreResult<Vec<Key>> {
        let ResumePoints { fresh: mut after, retries } = self.after();
        let look = async |across: &mut Across| across.with_retries(lease, retries.as_ref(), RETRIES).await;
        let found = self.store.across(look).await?;
        let is_all = i64::try_from(found.len()).is_ok_and(|count| count < RETRIES);
        let retries = found.last().filter(|_| !is_all).cloned();
        let mut due: Vec<Key> = found.into_iter().map(|(_, key)| key).collect();
        for _ in 0..AT_ONCE {
            let last = after.clone();
            let look = async move |across: &mut Across| across.next_with_fresh(last.as_ref(), lease).await;
            let found = self.store.across(look).await?;
            after = found.as_ref().map(|found| found.key.clone());
            let Some(found) = found else { break };
            if found.is_open {
                due.push(found.key);
            }
        }
        *self.after.lock().unwrap_or_else(PoisonError::into_inner) = ResumePoints { fresh: after, retries };
        Ok(due)
    }

    async fn take(&self, key: &Key, lease: &Lease, is_held: bool, most: usize) -> StoreResult<LeaseOutcome> {
        let (id, lease) = (key.subscription.clone(), lease.clone());
        if is_held {
            let read = async move |tx: &mut Tx| tx.take_webhook(&id, &lease, most).await;
            return self.store.read(key.tenant.clone(), read).await;
        }
        let work = async move |_: &Ctx, tx: &mut Tx| {
            // If the lease belongs to another instance, reading reports it.
            tx.lease_webhook(&id, &lease).await?;
            let taken = tx.take_webhook(&id, &lease, most).await?;
            Ok::<_, StoreError>(Audited::without(taken, Unaudited::Delivered))
        };
        self.store.write(ctx(&self.env, &key.tenant), work).await
    }

    async fn record(&self, batch: &Batch) -> StoreResult<Vec<DisabledSubscription>> {
        let kept = batch.clone();
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let (mut events, mut disabled) = (Vec::new(), Vec::new());
            for (id, reason) in &kept.disabled {
                if ::webhooks::disable(ctx, tx, id, *reason).await?.is_some() {
                    let data = WebhookDisabled { reason: reason.as_str().to_owned() };
                    events.push(Event::new(id.as_str(), &data));
                    disabled.push((id.clone(), *reason));
                }
            }
            tx.record_webhooks(&kept).await?;
            Ok::<_, StoreError>(Audited::of_changes(disabled, events))
        };
        self.store.write(ctx(&self.env, &batch.tenant), work).await
    }

    async fn release(&self, keys: &[Key], owner: &str, now: Timestamp) -> StoreResult<()> {
        let mut tenants: BTreeMap<&TenantId, Vec<_>> = BTreeMap::new();
        for key in keys {
            tenants.entry(&key.tenant).or_default().push(key.subscription.clone());
        }
        for (tenant, ids) in tenants {
            let owner = owner.to_owned();
            let work = async move |_: &Ctx, tx: &mut Tx| {
                tx.release_webhooks(&ids, &owner, now).await?;
                Ok::<_, StoreError>(Audited::without((), Unaudited::Delivered))
            };
            self.store.write(ctx(&self.env, tenant), work).await?;
        }
        Ok(())
    }
}
