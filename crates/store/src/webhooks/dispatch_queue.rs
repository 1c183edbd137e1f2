//! The queue that a dispatcher delivers from.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ::webhooks::{Batch, Key, Lease, LeaseOutcome, Queue, Recorded};
use async_trait::async_trait;
use audit::{Audited, Event, Unaudited, events::webhooks::WebhookDisabled};
use kernel::{Ctx, Env, StoreError, StoreResult, TenantId, Timestamp};

use super::{ctx, dispatchers::Others};
use crate::{Across, Store, Tx, shards::SWEEP};

/// Maximum subscriptions with new events per poll.
const AT_ONCE: usize = 500;

/// Maximum subscriptions with due retries per poll.
const RETRIES: i64 = 1_000;

/// Maximum retries that a dispatcher on a distributed database remembers.
const REMEMBERED: usize = 100_000;

/// The delivery queue of all tenants in the database.
pub struct DispatchQueue {
    store: Arc<Store>,
    env: Arc<dyn Env>,
    after: Mutex<ResumePoints>,
    others: Mutex<Others>,
    shards: Mutex<Shards>,
}

/// What a dispatcher on a distributed database remembers, so that it rarely asks all shards.
#[derive(Default)]
struct Shards {
    /// Retries of attempts that this dispatcher has recorded.
    retries: BTreeSet<(Timestamp, Key)>,
    /// When all shards were asked last, and which dispatchers had stopped then.
    swept: Option<(Timestamp, Arc<[String]>)>,
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
        Self { store, env, after: Mutex::default(), others: Mutex::default(), shards: Mutex::default() }
    }

    fn others(&self) -> MutexGuard<'_, Others> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns due work of a distributed database: known retries, and now and then, or when another dispatcher has
    /// stopped, the work of all shards.
    async fn due_of_shards(&self, lease: &Lease) -> StoreResult<Vec<Key>> {
        let now = lease.now;
        let is_sweep = self.shards().swept.as_ref().is_none_or(|(at, stopped)| {
            now >= at.plus_millis(SWEEP) || lease.stopped.iter().any(|one| !stopped.contains(one))
        });
        let mut due = Vec::new();
        if is_sweep {
            self.shards().swept = Some((now, lease.stopped.clone()));
            let look = async move |across: &mut Across| across.due_on_shards(now).await;
            match self.store.across(look).await {
                Ok(found) => due = found,
                Err(error) => tracing::warn!(%error, "deliveries cannot be searched on all shards"),
            }
        }
        let mut shards = self.shards();
        while shards.retries.first().is_some_and(|(at, _)| *at <= now) {
            due.extend(shards.retries.pop_first().map(|(_, key)| key));
        }
        Ok(due)
    }

    /// Remembers the retries of recorded attempts.
    fn remember_retries(&self, batch: &Batch) {
        let mut shards = self.shards();
        for (subscription, report) in &batch.reports {
            if let Some(next) = &report.next {
                let key = Key { tenant: batch.tenant.clone(), subscription: subscription.clone() };
                shards.retries.insert((next.at, key));
            }
        }
        // The sweeps find the others.
        while shards.retries.len() > REMEMBERED {
            shards.retries.pop_last();
        }
    }

    fn shards(&self) -> MutexGuard<'_, Shards> {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what is known of other dispatchers.
    fn informed(&self, lease: &Lease) -> Lease {
        Lease { stopped: self.others().stopped.clone(), ..lease.clone() }
    }

    fn after(&self) -> ResumePoints {
        self.after.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Queue for DispatchQueue {
    async fn be_seen(&self, lease: &Lease) -> StoreResult<()> {
        let (owner, now) = (lease.owner.clone(), lease.now);
        let nobody = TenantId::new(&*self.env);
        if self.store.is_shared() {
            let see = async move |_: &Ctx, tx: &mut Tx| {
                let rows = tx.see_dispatcher(&owner, now).await?;
                Ok::<_, StoreError>(Audited::without(rows, Unaudited::Delivered))
            };
            let rows = self.store.write(ctx(&self.env, &nobody), see).await?;
            self.others().observe(now, rows);
        } else if self.others().at.is_none() {
            // A file has one server, so all earlier dispatchers have stopped.
            let look = async move |tx: &mut Tx| tx.other_dispatchers(&owner, now).await;
            let stopped = self.store.read::<_, StoreError>(nobody, look).await?.into();
            let mut others = self.others();
            (others.at, others.stopped) = (Some(now), stopped);
        }
        Ok(())
    }

    async fn due(&self, lease: &Lease) -> StoreResult<Vec<Key>> {
        let lease = &self.informed(lease);
        if self.store.is_distributed().await? {
            return self.due_of_shards(lease).await;
        }
        let ResumePoints { fresh: mut after, retries } = self.after();
        let look = async |across: &mut Across| across.with_retries(lease, retries.as_ref(), RETRIES).await;
        let found = self.store.across(look).await?;
        let is_all = i64::try_from(found.len()).is_ok_and(|count| count < RETRIES);
        let retries = found.last().filter(|_| !is_all).map(|last| (last.due_at, last.key.clone()));
        let open = found.into_iter().filter(|retry| retry.is_open);
        let mut due: Vec<Key> = open.map(|retry| retry.key).collect();
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
        let (id, lease) = (key.subscription.clone(), self.informed(lease));
        if is_held {
            let (id, lease) = (id.clone(), lease.clone());
            let read = async move |tx: &mut Tx| tx.take_webhook(&id, &lease, most).await;
            if let Some(taken) = self.store.read::<_, StoreError>(key.tenant.clone(), read).await? {
                return Ok(taken);
            }
        }
        let work = async move |_: &Ctx, tx: &mut Tx| {
            if !is_held {
                // If the lease belongs to another instance, reading reports it.
                tx.lease_webhook(&id, &lease).await?;
            }
            let taken = tx.take_webhook(&id, &lease, most).await?;
            Ok::<_, StoreError>(Audited::without(
                taken.unwrap_or(LeaseOutcome::Nothing),
                Unaudited::Delivered,
            ))
        };
        self.store.write(ctx(&self.env, &key.tenant), work).await
    }

    async fn record(&self, batch: &Batch) -> StoreResult<Recorded> {
        let kept = batch.clone();
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            // Before subscriptions are disabled, which ends their series of failures.
            let released = tx.record_webhooks(ctx, &kept).await?;
            let (mut events, mut disabled) = (Vec::new(), Vec::new());
            for (id, reason) in &kept.disabled {
                if ::webhooks::disable(ctx, tx, id, *reason).await?.is_some() {
                    let data = WebhookDisabled { reason: reason.as_str().to_owned() };
                    events.push(Event::new(id.as_str(), &data));
                    disabled.push((id.clone(), *reason));
                }
            }
            Ok::<_, StoreError>(Audited::of_changes(Recorded { disabled, released }, events))
        };
        let recorded = self.store.write(ctx(&self.env, &batch.tenant), work).await?;
        if self.store.is_distributed().await? {
            self.remember_retries(batch);
        }
        Ok(recorded)
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
