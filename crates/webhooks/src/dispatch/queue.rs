//! What a dispatcher needs from storage, senders and observers.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use kernel::{StoreError, TenantId, Timestamp};
use tokio::sync::Notify;

use crate::{
    delivery::{Attempt, Outcome, Report},
    error::KeyError,
    secret::{Secrets, Signers},
    subscription::{DisabledReason, SubscriptionId},
};

/// Identifies a subscription across tenants.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Tenant of the subscription.
    pub tenant: TenantId,
    /// ID of the subscription.
    pub subscription: SubscriptionId,
}

/// The exclusive right of a dispatcher to deliver to a subscription for a limited time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Id of the dispatcher that holds the lease.
    pub owner: String,
    /// Current time.
    pub now: Timestamp,
    /// When the lease expires unless it is renewed.
    pub until: Timestamp,
    /// Dispatchers that stopped without releasing their leases, as far as storage knows.
    pub stopped: Arc<[String]>,
}

impl Lease {
    /// Duration of a lease in milliseconds.
    pub const LENGTH: i64 = 60_000;

    /// Returns a lease from now on.
    pub fn new(owner: &str, now: Timestamp) -> Self {
        let until = now.plus_millis(Self::LENGTH);
        Self { owner: owner.to_owned(), now, until, stopped: Arc::default() }
    }

    /// Returns whether a subscription with this lease may be taken. An expiry far in the future is due to a wrong
    /// clock.
    pub fn may_take(&self, owner: &str, until: Timestamp) -> bool {
        owner == self.owner
            || until <= self.now
            || until > self.now.plus_millis(2 * Self::LENGTH)
            || self.stopped.iter().any(|stopped| stopped == owner)
    }
}

/// The receiver of a subscription's deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    /// URL of the endpoint.
    pub url: String,
    /// Secrets that sign its deliveries.
    pub secrets: Secrets,
    /// Start of the current period without a successful delivery.
    pub failing_since: Option<Timestamp>,
}

/// The result of taking a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// It was removed or disabled.
    Nothing,
    /// Another dispatcher delivers to it.
    Elsewhere,
    /// This dispatcher delivers to it.
    Ours {
        /// The receiver of the deliveries.
        receiver: Box<Receiver>,
        /// First attempts and manual redeliveries, oldest first.
        fresh: Vec<Attempt>,
        /// Retries that are due.
        retries: Vec<Attempt>,
        /// Whether there may be more of either.
        has_more: bool,
    },
}

/// A subscription that is disabled because of its outcomes.
pub type DisabledSubscription = (SubscriptionId, DisabledReason);

/// What followed from recorded outcomes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Subscriptions that were disabled because of them.
    pub disabled: Vec<DisabledSubscription>,
    /// Ordered subscriptions with events that waited for these attempts.
    pub released: Vec<SubscriptionId>,
}

/// The outcomes of some attempts of one tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Tenant of all reports.
    pub tenant: TenantId,
    /// The attempts with their subscriptions.
    pub reports: Vec<(SubscriptionId, Report)>,
    /// Changes of [`Receiver::failing_since`].
    pub failing_since: Vec<(SubscriptionId, Option<Timestamp>)>,
    /// Subscriptions to disable.
    pub disabled: Vec<DisabledSubscription>,
}

/// Signs and sends attempts.
#[async_trait]
pub trait Deliverer: Send + Sync + 'static {
    /// Returns the secrets that currently sign for this receiver.
    fn signers(&self, key: &Key, receiver: &Receiver, now: Timestamp) -> Result<Signers, KeyError>;
    /// Sends an attempt and waits up to 15 s for the response.
    async fn deliver(&self, receiver: &Receiver, signers: &Signers, attempt: &Attempt) -> Outcome;
}

/// Receives events of a dispatcher for metrics and logs.
pub trait DispatchObserver: Send + Sync + 'static {
    /// An attempt has completed.
    fn attempted(&self, _key: &Key, _report: &Report) {}
    /// The number of deliveries in flight and of subscriptions with state in memory.
    fn at_work(&self, _in_flight: usize, _subscriptions: usize) {}
    /// Nothing is sent to a subscription because its secret cannot be derived.
    fn unsigned(&self, _key: &Key, _error: &KeyError) {}
    /// A subscription was disabled because of its outcomes.
    fn disabled(&self, _key: &Key, _reason: DisabledReason) {}
    /// A storage operation failed.
    fn failed(&self, _doing: &'static str, _error: &StoreError) {}
    /// Another dispatcher may own a subscription that has a new delivery, or that has changed. Notify it.
    fn elsewhere(&self, _key: &Key, _has_changed: bool) {}
}

/// Notifies the dispatcher of committed deliveries and changed subscriptions. Notifying never blocks.
#[derive(Clone, Default)]
pub struct Wakeups(Arc<NewsState>);

#[derive(Default)]
struct NewsState {
    keys: Mutex<HashSet<(Key, bool)>>,
    notify: Notify,
}

impl Wakeups {
    /// Notifies of a new delivery or, if `has_changed`, of a change to the subscription.
    pub fn notify(&self, key: Key, has_changed: bool) {
        self.0.keys.lock().unwrap_or_else(PoisonError::into_inner).insert((key, has_changed));
        self.0.notify.notify_one();
    }

    /// Waits for notifications and takes them: each subscription, and whether it has changed.
    pub async fn next(&self) -> Vec<(Key, bool)> {
        loop {
            let keys = std::mem::take(&mut *self.0.keys.lock().unwrap_or_else(PoisonError::into_inner));
            if !keys.is_empty() {
                return keys.into_iter().collect();
            }
            self.0.notify.notified().await;
        }
    }
}
