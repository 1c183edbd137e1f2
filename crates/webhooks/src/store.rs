//! The storage traits of subscriptions and deliveries.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp};

use crate::{
    dispatch::{Batch, Key, Lease, LeaseOutcome, Recorded},
    subscription::{Subscription, SubscriptionId},
};

/// The subscriptions of one tenant.
#[async_trait]
pub trait SubscriptionStore: Send {
    /// Returns all subscriptions, oldest first.
    async fn subscriptions(&mut self) -> StoreResult<Vec<Subscription>>;
    /// Returns the subscription with this id. A writing transaction locks it until its end.
    async fn subscription(&mut self, id: &SubscriptionId) -> StoreResult<Option<Subscription>>;
    /// Returns the number of subscriptions. A writing transaction locks the list until its end.
    async fn count_subscriptions(&mut self) -> StoreResult<usize>;
    /// Inserts a subscription.
    async fn insert_subscription(&mut self, subscription: &Subscription) -> StoreResult<()>;
    /// Updates a subscription. New events are matched with its new filters and only while it is enabled. Pending
    /// deliveries wait while it is disabled.
    async fn update_subscription(&mut self, subscription: &Subscription) -> StoreResult<()>;
    /// Deletes a subscription with its deliveries.
    async fn delete_subscription(&mut self, id: &SubscriptionId) -> StoreResult<()>;
}

/// The queue of deliveries.
#[async_trait]
pub trait Queue: Send + Sync + 'static {
    /// Records that the dispatcher is running, every two seconds, so that others take over its leases soon after it was
    /// killed.
    async fn be_seen(&self, _lease: &Lease) -> StoreResult<()> {
        Ok(())
    }
    /// Returns subscriptions that have due deliveries and that no other dispatcher seems to own. Does not take them.
    async fn due(&self, lease: &Lease) -> StoreResult<Vec<Key>>;
    /// Takes a subscription by compare-and-set, or, if `is_held`, checks that the lease's owner still holds it.
    /// Returns its due deliveries, at most `most` first attempts and `most` retries. Of an ordered subscription it
    /// returns only the earliest pending event of each subject; [`Queue::record`] releases the next.
    async fn take(&self, key: &Key, lease: &Lease, is_held: bool, most: usize) -> StoreResult<LeaseOutcome>;
    /// Records outcomes, schedules retries and updates the subscriptions, completely or not at all. Attempts that
    /// already have an outcome are skipped.
    async fn record(&self, batch: &Batch) -> StoreResult<Recorded>;
    /// Releases the leases of `owner` on these subscriptions.
    async fn release(&self, keys: &[Key], owner: &str, now: Timestamp) -> StoreResult<()>;
}
