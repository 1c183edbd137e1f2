//! An in-memory queue, for tests and for services that need no persistent one.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use kernel::{Env, StoreResult, TenantId, Timestamp};

use crate::{
    Attempt, Batch, DeliveryId, Key, Lease, LeaseOutcome, Outcome, Receiver, Recorded, Subscription,
    SubscriptionId,
    store::{Queue, SubscriptionStore},
};

/// Stores subscriptions and deliveries in memory. Clones share the data.
#[derive(Clone, Default)]
pub struct MemoryQueue(Arc<Mutex<QueueData>>);

#[derive(Default)]
struct QueueData {
    subscriptions: BTreeMap<Key, StoredSubscription>,
    deliveries: BTreeMap<(Key, DeliveryId), MemoryDelivery>,
}

struct StoredSubscription {
    subscription: Subscription,
    lease: Option<(String, Timestamp)>,
    failing_since: Option<Timestamp>,
}

/// A stored attempt.
#[derive(Debug, Clone)]
pub struct MemoryDelivery {
    /// The attempt.
    pub attempt: Attempt,
    /// When it is due; `None` once it has an outcome.
    pub due_at: Option<Timestamp>,
    /// The outcome, once there is one.
    pub outcome: Option<Outcome>,
    /// When the retry is due.
    pub next_at: Option<Timestamp>,
}

/// An event to deliver.
#[derive(Debug, Clone)]
pub struct PublishedEvent<'e> {
    /// The ID, which sorts after those of earlier events.
    pub id: &'e str,
    /// The event type.
    pub kind: &'e str,
    /// What the event is about. Ordered subscriptions receive the events of a subject one after the other.
    pub subject: &'e str,
    /// The payload.
    pub body: &'e Bytes,
}

impl MemoryQueue {
    fn inner(&self) -> MutexGuard<'_, QueueData> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the subscription store of a tenant.
    pub fn of(&self, tenant: &TenantId) -> MemorySubscriptions {
        MemorySubscriptions { queue: self.clone(), tenant: tenant.clone() }
    }

    /// Queues an event for every subscription of the tenant that wants it. Returns their keys, to notify the
    /// dispatcher.
    pub fn publish(&self, env: &dyn Env, tenant: &TenantId, event: &PublishedEvent<'_>) -> Vec<Key> {
        let mut inner = self.inner();
        let wanting = inner.subscriptions.iter().filter(|(key, kept)| {
            key.tenant == *tenant && kept.subscription.enabled && kept.subscription.wants(event.kind)
        });
        let keys: Vec<(Key, bool)> =
            wanting.map(|(key, kept)| (key.clone(), kept.subscription.ordered)).collect();
        for (key, is_ordered) in &keys {
            let attempt = Attempt {
                id: DeliveryId::new(env),
                event_id: event.id.to_owned(),
                event_type: event.kind.to_owned(),
                subject: is_ordered.then(|| event.subject.to_owned()),
                number: 1,
                is_fresh: true,
                body: Some(event.body.clone()),
            };
            inner.push_attempt(key, attempt, env.now());
        }
        keys.into_iter().map(|(key, _)| key).collect()
    }

    /// Returns all attempts of a subscription, oldest first.
    pub fn deliveries(&self, key: &Key) -> Vec<MemoryDelivery> {
        let inner = self.inner();
        let of_it = inner.deliveries.iter().filter(|((known, _), _)| known == key);
        of_it.map(|(_, delivery)| delivery.clone()).collect()
    }

    /// Returns the start of the current period without a successful delivery.
    pub fn failing_since(&self, key: &Key) -> Option<Timestamp> {
        self.inner().subscriptions.get(key).and_then(|kept| kept.failing_since)
    }
}

impl QueueData {
    fn push_attempt(&mut self, key: &Key, attempt: Attempt, due_at: Timestamp) {
        let at = (key.clone(), attempt.id.clone());
        let delivery = MemoryDelivery { attempt, due_at: Some(due_at), outcome: None, next_at: None };
        self.deliveries.insert(at, delivery);
    }

    fn pending<'q>(&'q self, key: &'q Key) -> impl Iterator<Item = &'q MemoryDelivery> {
        let of_it = self.deliveries.iter().filter(move |((known, _), _)| known == key);
        of_it.map(|(_, delivery)| delivery).filter(|delivery| delivery.due_at.is_some())
    }

    /// Returns the due attempts that wait for no earlier event.
    fn due<'q>(&'q self, key: &'q Key, now: Timestamp) -> impl Iterator<Item = &'q MemoryDelivery> {
        let due = self.pending(key).filter(move |delivery| delivery.due_at.is_some_and(|at| at <= now));
        due.filter(move |delivery| {
            let attempt = &delivery.attempt;
            attempt.subject.is_none()
                || !self.pending(key).any(|earlier| {
                    earlier.attempt.subject == attempt.subject && earlier.attempt.event_id < attempt.event_id
                })
        })
    }
}

#[async_trait]
impl Queue for MemoryQueue {
    async fn due(&self, lease: &Lease) -> StoreResult<Vec<Key>> {
        let inner = self.inner();
        let is_free = |kept: &StoredSubscription| {
            kept.lease.as_ref().is_none_or(|(owner, until)| lease.may_take(owner, *until))
        };
        let due = inner.subscriptions.iter().filter(|(key, kept)| {
            kept.subscription.enabled && is_free(kept) && inner.due(key, lease.now).next().is_some()
        });
        Ok(due.map(|(key, _)| key.clone()).collect())
    }

    async fn take(&self, key: &Key, lease: &Lease, is_held: bool, most: usize) -> StoreResult<LeaseOutcome> {
        let mut inner = self.inner();
        let Some(kept) = inner.subscriptions.get_mut(key).filter(|kept| kept.subscription.enabled) else {
            return Ok(LeaseOutcome::Nothing);
        };
        let may = match &kept.lease {
            Some((owner, _)) if is_held => *owner == lease.owner,
            Some((owner, until)) => lease.may_take(owner, *until),
            None => true,
        };
        if !may {
            return Ok(LeaseOutcome::Elsewhere);
        }
        if !is_held {
            kept.lease = Some((lease.owner.clone(), lease.until));
        }
        let receiver = Receiver {
            url: kept.subscription.url.clone(),
            secrets: kept.subscription.secrets.clone(),
            failing_since: kept.failing_since,
        };
        let mut due: Vec<_> = inner.due(key, lease.now).collect();
        due.sort_by_key(|delivery| (delivery.due_at, delivery.attempt.id.clone()));
        let of = |is_fresh: bool| {
            let kind = due.iter().filter(|delivery| delivery.attempt.is_fresh == is_fresh);
            kind.take(most).map(|delivery| delivery.attempt.clone()).collect()
        };
        let (fresh, retries): (Vec<_>, Vec<_>) = (of(true), of(false));
        let has_more = fresh.len() >= most || retries.len() >= most;
        Ok(LeaseOutcome::Ours { receiver: Box::new(receiver), fresh, retries, has_more })
    }

    async fn record(&self, batch: &Batch) -> StoreResult<Recorded> {
        let mut inner = self.inner();
        let key = |subscription: &SubscriptionId| Key {
            tenant: batch.tenant.clone(),
            subscription: subscription.clone(),
        };
        let mut recorded = Recorded::default();
        for (subscription, report) in &batch.reports {
            let key = key(subscription);
            let Some(delivery) = inner.deliveries.get_mut(&(key.clone(), report.attempt.id.clone())) else {
                continue;
            };
            if delivery.due_at.take().is_none() {
                continue;
            }
            delivery.outcome = Some(report.outcome.clone());
            delivery.next_at = report.next.as_ref().map(|next| next.at);
            if let Some(next) = &report.next {
                let attempt = Attempt {
                    id: next.id.clone(),
                    number: report.attempt.number + 1,
                    is_fresh: false,
                    ..report.attempt.clone()
                };
                inner.push_attempt(&key, attempt, next.at);
            } else if report.attempt.subject.is_some() {
                recorded.released.push(subscription.clone());
            }
        }
        for (subscription, since) in &batch.failing_since {
            if let Some(kept) = inner.subscriptions.get_mut(&key(subscription)) {
                kept.failing_since = *since;
            }
        }
        for (subscription, reason) in &batch.disabled {
            let kept = inner.subscriptions.get_mut(&key(subscription));
            if let Some(kept) = kept.filter(|kept| kept.subscription.enabled) {
                kept.subscription.enabled = false;
                kept.subscription.disabled_reason = Some(*reason);
                recorded.disabled.push((subscription.clone(), *reason));
            }
        }
        Ok(recorded)
    }

    async fn release(&self, keys: &[Key], owner: &str, _: Timestamp) -> StoreResult<()> {
        let mut inner = self.inner();
        for key in keys {
            if let Some(kept) = inner.subscriptions.get_mut(key) {
                kept.lease.take_if(|(held_by, _)| held_by == owner);
            }
        }
        Ok(())
    }
}

/// The subscription store of one tenant.
pub struct MemorySubscriptions {
    queue: MemoryQueue,
    tenant: TenantId,
}

impl MemorySubscriptions {
    fn key(&self, id: &SubscriptionId) -> Key {
        Key { tenant: self.tenant.clone(), subscription: id.clone() }
    }
}

#[async_trait]
impl SubscriptionStore for MemorySubscriptions {
    async fn subscriptions(&mut self) -> StoreResult<Vec<Subscription>> {
        let inner = self.queue.inner();
        let ours = inner.subscriptions.iter().filter(|(key, _)| key.tenant == self.tenant);
        Ok(ours.map(|(_, kept)| kept.subscription.clone()).collect())
    }

    async fn subscription(&mut self, id: &SubscriptionId) -> StoreResult<Option<Subscription>> {
        Ok(self.queue.inner().subscriptions.get(&self.key(id)).map(|kept| kept.subscription.clone()))
    }

    async fn count_subscriptions(&mut self) -> StoreResult<usize> {
        Ok(self.subscriptions().await?.len())
    }

    async fn insert_subscription(&mut self, subscription: &Subscription) -> StoreResult<()> {
        let kept =
            StoredSubscription { subscription: subscription.clone(), lease: None, failing_since: None };
        self.queue.inner().subscriptions.insert(self.key(&subscription.id), kept);
        Ok(())
    }

    async fn update_subscription(&mut self, subscription: &Subscription) -> StoreResult<()> {
        let mut inner = self.queue.inner();
        if let Some(kept) = inner.subscriptions.get_mut(&self.key(&subscription.id)) {
            if subscription.enabled && !kept.subscription.enabled {
                kept.failing_since = None;
            }
            kept.subscription = subscription.clone();
        }
        Ok(())
    }

    async fn delete_subscription(&mut self, id: &SubscriptionId) -> StoreResult<()> {
        let key = self.key(id);
        let mut inner = self.queue.inner();
        inner.subscriptions.remove(&key);
        inner.deliveries.retain(|(known, _), _| *known != key);
        Ok(())
    }
}
