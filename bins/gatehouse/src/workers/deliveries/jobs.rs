//! What has to be done now and then: filters are spelled out again after an upgrade, old attempts are taken away, and
//! checkpoints of audit logs are told.

use std::time::Duration;

use audit::{Audited, Unaudited};
use kernel::{Ctx, StoreError, StoreResult, TenantId};
use store::{Across, Tx};
use tokio::time::{MissedTickBehavior, interval};
use webhooks::Key;

use super::{Deliveries, area::ctx};

/// How often checkpoints are looked at.
const EVERY: Duration = Duration::from_mins(1);
/// Looks between two at old attempts.
const TIDY: u32 = 10;
/// Subscriptions that are looked at between two pauses.
const AT_ONCE: i64 = 100;
/// Between two times that attempts of one subscription are taken away.
const BREATH: Duration = Duration::from_millis(20);
/// Milliseconds between two checkpoints that are told.
const HOUR: i64 = 3_600_000;

impl Deliveries {
    /// Does them for ever.
    pub(crate) async fn run_jobs(&self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut looks = 0_u32;
        loop {
            ticks.tick().await;
            log_problem("checkpoints could not be told", self.publish().await);
            if looks.is_multiple_of(TIDY) {
                // After an upgrade; and an older instance beside this one may have spelled out less.
                log_problem("filters of webhooks could not be spelled out again", self.route_again().await);
                log_problem("old deliveries could not be taken away", self.purge_expired().await);
            }
            looks = looks.wrapping_add(1);
        }
    }

    /// After an upgrade there may be types of events that filters match and that nobody knew of.
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

    /// Takes away attempts that are older than 30 days, and those of subscriptions that were removed.
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
                // One that cannot be looked after keeps nobody else from being.
                log_problem("old deliveries of a webhook could not be taken away", tidied);
            }
        }
    }

    /// All of one that has to go, at a pace that leaves room for others.
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

    /// Tells the newest checkpoints of logs that have grown, once an hour at most.
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
