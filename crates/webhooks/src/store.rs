//! What the rules and the dispatcher need of storage.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp};

use crate::{
    dispatch::{Batch, Key, Lease, LeaseOutcome},
    subscription::{Subscription, SubscriptionId},
};

/// Where one tenant's subscriptions are kept.
#[async_trait]
pub trait SubscriptionStore: Send {
    /// All of them, the oldest first.
    async fn subscriptions(&mut self) -> StoreResult<Vec<Subscription>>;
    /// The one of this id. In a unit of work that changes, nobody else changes it before the end.
    async fn subscription(&mut self, id: &SubscriptionId) -> StoreResult<Option<Subscription>>;
    /// How many there are. In a unit of work that changes, nobody else adds one before the end.
    async fn count_subscriptions(&mut self) -> StoreResult<usize>;
    /// Keeps a new one.
    async fn insert_subscription(&mut self, subscription: &Subscription) -> StoreResult<()>;
    /// Keeps a changed one. What it is told of from now on follows from its filters and from whether it is enabled; what
    /// was to be delivered waits while it is not.
    async fn update_subscription(&mut self, subscription: &Subscription) -> StoreResult<()>;
    /// Removes one with its deliveries.
    async fn delete_subscription(&mut self, id: &SubscriptionId) -> StoreResult<()>;
}

/// Where deliveries wait.
#[async_trait]
pub trait Queue: Send + Sync + 'static {
    /// Subscriptions with deliveries whose time has come and that nobody else delivers to, as far as can be told without
    /// taking them.
    async fn due(&self, lease: &Lease) -> StoreResult<Vec<Key>>;
    /// Takes a subscription by compare-and-set, or goes on with it (`is_held`) if it is still the lease's owner's, and
    /// reads its deliveries that are due: of each kind so many at most.
    async fn take(&self, key: &Key, lease: &Lease, is_held: bool, most: usize) -> StoreResult<LeaseOutcome>;
    /// Keeps what came of attempts, the attempts that follow, and what that means for their subscriptions: all of it or
    /// nothing. Of an attempt that has an outcome already nothing is kept.
    async fn record(&self, batch: &Batch) -> StoreResult<()>;
    /// Gives back what is not delivered to any more.
    async fn release(&self, keys: &[Key], owner: &str, now: Timestamp) -> StoreResult<()>;
}
