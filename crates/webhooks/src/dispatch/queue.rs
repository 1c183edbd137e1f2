//! What a dispatcher asks of storage, and of whatever sends.

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

/// Identifies a subscription over all tenants.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Tenant of the subscription.
    pub tenant: TenantId,
    /// Which of theirs.
    pub subscription: SubscriptionId,
}

/// Who delivers to a subscription, and until when nobody else does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Id of the dispatcher that holds the lease.
    pub owner: String,
    /// Current time.
    pub now: Timestamp,
    /// Until then, unless it is renewed.
    pub until: Timestamp,
}

impl Lease {
    /// Milliseconds of a lease.
    pub const LENGTH: i64 = 60_000;

    /// Whether a subscription with this lease may be taken. One that ends far from now was given by a wrong clock.
    pub fn may_take(&self, owner: &str, until: Timestamp) -> bool {
        owner == self.owner || until <= self.now || until > self.now.plus_millis(2 * Self::LENGTH)
    }
}

/// Where deliveries go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    /// URL of the endpoint.
    pub url: String,
    /// Secrets that sign its deliveries.
    pub secrets: Secrets,
    /// Since when nothing has succeeded.
    pub failing_since: Option<Timestamp>,
}

/// What came of asking for a subscription's deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// It is gone or disabled: nothing is sent.
    Nothing,
    /// Somebody else delivers to it.
    Elsewhere,
    /// It is ours.
    Ours {
        /// Where deliveries go to.
        receiver: Box<Receiver>,
        /// First attempts and those that were asked for, the oldest first.
        fresh: Vec<Attempt>,
        /// Attempts by the schedule whose time has come.
        retries: Vec<Attempt>,
    },
}

/// What came of some attempts of one tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Tenant of all reports.
    pub tenant: TenantId,
    /// Each attempt, with its subscription.
    pub reports: Vec<(SubscriptionId, Report)>,
    /// Since when nothing has succeeded, of those where that has changed.
    pub failing_since: Vec<(SubscriptionId, Option<Timestamp>)>,
    /// Those to be disabled.
    pub disabled: Vec<(SubscriptionId, DisabledReason)>,
}

/// Sends one attempt to an endpoint.
#[async_trait]
pub trait Deliverer: Send + Sync + 'static {
    /// What signs for this receiver now.
    fn signers(&self, key: &Key, receiver: &Receiver, now: Timestamp) -> Result<Signers, KeyError>;
    /// Sends an attempt and waits for the answer: 15 s at most.
    async fn deliver(&self, receiver: &Receiver, signers: &Signers, attempt: &Attempt) -> Outcome;
}

/// Who looks on: for figures and logs.
pub trait DispatchObserver: Send + Sync + 'static {
    /// An attempt has an outcome.
    fn attempted(&self, _key: &Key, _report: &Report) {}
    /// So many are being sent, and so many subscriptions are looked after.
    fn at_work(&self, _in_flight: usize, _subscriptions: usize) {}
    /// Nothing is sent to a subscription as its secret cannot be derived.
    fn unsigned(&self, _key: &Key, _error: &KeyError) {}
    /// Storage did not do what it was asked.
    fn failed(&self, _doing: &'static str, _error: &StoreError) {}
    /// There is news for a subscription that somebody else delivers to, or may: a delivery, or that it is not what it was.
    fn elsewhere(&self, _key: &Key, _has_changed: bool) {}
}

/// Subscriptions that have something new: told by whoever has committed it, heard by the dispatcher. Telling never waits.
#[derive(Clone, Default)]
pub struct Wakeups(Arc<NewsState>);

#[derive(Default)]
struct NewsState {
    keys: Mutex<HashSet<(Key, bool)>>,
    notify: Notify,
}

impl Wakeups {
    /// There is a new delivery for it, or (`has_changed`) it is not what it was.
    pub fn notify(&self, key: Key, has_changed: bool) {
        self.0.keys.lock().unwrap_or_else(PoisonError::into_inner).insert((key, has_changed));
        self.0.notify.notify_one();
    }

    /// Waits until there is news, and takes it: each subscription, and whether it is not what it was.
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
