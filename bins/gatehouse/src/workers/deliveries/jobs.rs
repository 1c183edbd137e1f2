//! Periodic webhook jobs: expand event filters after an upgrade, purge old attempts, and publish checkpoints of audit
//! logs.

use std::time::Duration;

use audit::{Audited, Unaudited};
use kernel::{Ctx, StoreError, StoreResult, TenantId};
use store::{Across, Tx};
use tokio::time::{MissedTickBehavior, interval};
use webhooks::Key;

use super::{Deliveries, area::ctx};

/// Interval between rounds. Every round publishes checkpoints.
const EVERY: Duration = Duration::from_mins(1);
/// Purge old attempts in every n-th round.
const TIDY: u32 = 10;
/// Subscriptions per query.
const AT_ONCE: i64 = 100;
/// Pause between two purges of one subscription.
const BREATH: Duration = Duration::from_millis(20);
/// Minimum milliseconds between two published checkpoints of a log.
const HOUR: i64 = 3_600_000;

impl Deliveries {
    /// Runs the jobs until cancelled.
    pub(crate) async fn run_jobs(&self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut looks = 0_u32;
        loop {
            ticks.tick().await;
            log_problem("checkpoint events could not be published", self.publish().await);
            if looks.is_multiple_of(TIDY) {
                // After an upgrade, and again: an older instance that still runs may have expanded fewer filters.
                log_problem(
                    "event filters of webhooks could not be expanded again",
                    self.route_again().await,
                );
                log_problem("old deliveries could not be purged", self.purge_expired().await);
            }
            looks = looks.wrapping_add(1);
        }
    }

    /// Expands event filters again. An upgrade may add event types that existing filters match.
    async fn route_again(&self) -> StoreResult<()> {
        let mut after: Option<TenantId> = None;
        loop {
            let last = after.clone();
            let look = async move |across: &mut Across| across.next_to_route(last.as_ref()).await;
            let Some(tenant) = self.store.across(look).await? else { return Ok(()) };
            let work = async move |_: &Ctx, tx: &mut Tx| {
                tx.route_again().await?;
                Ok::<_, StoreError>(Audited::without((), Unaudited::Delivered))
            };
            self.store.write(ctx(&self.env, &tenant), work).await?;
            after = Some(tenant);
        }
    }

    /// Purges attempts older than 30 days, and those of removed subscriptions.
    async fn purge_expired(&self) -> StoreResult<()> {
        let mut after: Option<Key> = None;
        loop {
            let last = after.clone();
            let look = async move |across: &mut Across| across.webhooks_after(last.as_ref(), AT_ONCE).await;
            let keys = self.store.across(look).await?;
            let Some(last) = keys.last() else { return Ok(()) };
            after = Some(last.clone());
            for key in keys {
                let tidied = self.purge_one(&key).await;
                // A failure of one webhook must not stop the others.
                log_problem("old deliveries of a webhook could not be purged", tidied);
            }
        }
    }

    /// Purges the expired attempts of one subscription in batches with pauses, so that other work is not delayed.
    async fn purge_one(&self, key: &Key) -> StoreResult<()> {
        loop {
            let id = key.subscription.clone();
            let work = async move |ctx: &Ctx, tx: &mut Tx| {
                let has_more = tx.purge_deliveries(&id, ctx.now).await?;
                Ok::<_, StoreError>(Audited::without(has_more, Unaudited::Delivered))
            };
            if !self.store.write(ctx(&self.env, &key.tenant), work).await? {
                return Ok(());
            }
            tokio::time::sleep(BREATH).await;
        }
    }

    /// Publishes the newest checkpoints of logs that have grown, at most once an hour per log.
    async fn publish(&self) -> StoreResult<()> {
        let due_since = self.env.now().plus_millis(-HOUR);
        let mut after: Option<TenantId> = None;
        loop {
            let last = after.clone();
            let look =
                async move |across: &mut Across| across.next_to_publish(last.as_ref(), due_since).await;
            let Some(tenant) = self.store.across(look).await? else { return Ok(()) };
            let work = async move |ctx: &Ctx, tx: &mut Tx| {
                tx.publish_checkpoint(ctx, due_since).await?;
                Ok::<_, StoreError>(Audited::without((), Unaudited::Delivered))
            };
            self.store.write(ctx(&self.env, &tenant), work).await?;
            after = Some(tenant);
        }
    }
}

fn log_problem(problem: &'static str, done: StoreResult<()>) {
    if let Err(error) = done {
        tracing::warn!(%error, "{problem}");
    }
}
