//! Periodic work on the webhooks of all tenants.

use std::{sync::Arc, time::Duration};

use ::webhooks::{Key, PATIENCE};
use audit::{Audited, Event, Unaudited, events::webhooks::WebhookFailing};
use kernel::{Ctx, Env, StoreError, StoreResult, TenantId, Timestamp};

use super::{WebhookBacklog, WebhookNotice, ctx};
use crate::{Across, Store, Tx};

/// Subscriptions or tenants per query.
const AT_ONCE: i64 = 100;
/// Pause between two purges of one subscription, so that other work is not delayed.
const BREATH: Duration = Duration::from_millis(20);
/// Minimum milliseconds between two published checkpoints of a log.
const HOUR: i64 = 3_600_000;

/// Some of the failing webhooks.
#[derive(Debug, Default)]
pub struct NoticedFailures {
    /// How many were read.
    pub count: usize,
    /// Those whose administrators have to be notified now.
    pub new: Vec<FailingWebhook>,
    /// Where to continue; `None` at the end.
    pub last: Option<Key>,
}

/// A webhook that has had no success for a while.
#[derive(Debug, Clone)]
pub struct FailingWebhook {
    /// Its tenant.
    pub tenant: TenantId,
    /// The webhook, and who is notified of it.
    pub notice: WebhookNotice,
    /// Its first failure since its last success.
    pub since: Timestamp,
    /// An attempt that fails at this time or later disables it.
    pub disabled_after: Timestamp,
}

/// Periodic work on the webhooks of all tenants. Several instances may do it at the same time.
pub struct WebhookUpkeep {
    store: Arc<Store>,
    env: Arc<dyn Env>,
}

impl WebhookUpkeep {
    /// Creates the work over a database.
    pub fn new(store: Arc<Store>, env: Arc<dyn Env>) -> Self {
        Self { store, env }
    }

    /// Expands event filters again. An upgrade may add event types that existing filters match. A tenant whose filters
    /// cannot be expanded is passed to `failed`, and the others follow.
    pub async fn expand_filters(&self, failed: impl Fn(&TenantId, &StoreError)) -> StoreResult<()> {
        let mut after: Option<TenantId> = None;
        loop {
            let last = after.take();
            let next = async move |across: &mut Across| across.tenants_to_route(last.as_ref()).await;
            let tenants = self.store.across(next).await?;
            for tenant in &tenants {
                let route = async |_: &Ctx, tx: &mut Tx| tx.route_again().await;
                if let Err(error) = self.write(tenant, route).await {
                    failed(tenant, &error);
                }
            }
            let Some(last) = tenants.into_iter().next_back() else { return Ok(()) };
            after = Some(last);
        }
    }

    /// Publishes the newest checkpoints of audit logs that have grown, at most once an hour per log. A tenant whose
    /// checkpoint cannot be published is passed to `failed`, and the others follow.
    pub async fn publish_checkpoints(&self, failed: impl Fn(&TenantId, &StoreError)) -> StoreResult<()> {
        let due_since = self.env.now().plus_millis(-HOUR);
        let mut after: Option<TenantId> = None;
        loop {
            let last = after.take();
            let next = async move |across: &mut Across| {
                across.tenants_to_publish(last.as_ref(), due_since, AT_ONCE).await
            };
            let tenants = self.store.across(next).await?;
            for tenant in &tenants {
                let publish = async move |ctx: &Ctx, tx: &mut Tx| tx.publish_checkpoint(ctx, due_since).await;
                if let Err(error) = self.write(tenant, publish).await {
                    failed(tenant, &error);
                }
            }
            let Some(last) = tenants.into_iter().next_back() else { return Ok(()) };
            after = Some(last);
        }
    }

    /// Looks at the next failing webhooks after `after`, by tenant and ID. Records those that fail for an hour or are
    /// disabled in a day, and returns them once. A tenant whose webhook cannot be read is passed to `failed`, and the
    /// others follow.
    pub async fn notice_failures(
        &self,
        after: Option<Key>,
        failed: impl Fn(&TenantId, &StoreError),
    ) -> StoreResult<NoticedFailures> {
        let now = self.env.now();
        let next =
            async move |across: &mut Across| across.failing_webhooks(after.as_ref(), now, AT_ONCE).await;
        let found = self.store.across(next).await?;
        let mut noticed = NoticedFailures { count: found.len(), ..NoticedFailures::default() };
        for (key, _) in found.iter().filter(|(_, is_due)| *is_due) {
            match self.notice_failure(key).await {
                Ok(failing) => noticed.new.extend(failing),
                Err(error) => failed(&key.tenant, &error),
            }
        }
        noticed.last = found.into_iter().next_back().map(|(key, _)| key);
        Ok(noticed)
    }

    async fn notice_failure(&self, key: &Key) -> StoreResult<Option<FailingWebhook>> {
        let id = key.subscription.clone();
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let nothing = || Audited::without(None, Unaudited::Delivered);
            let notice = tx.webhook_notice(&id).await?.filter(|notice| notice.webhook.enabled);
            let Some(notice) = notice else { return Ok(nothing()) };
            let Some(since) = tx.note_failures(ctx, &id).await? else { return Ok(nothing()) };
            let disabled_after = since.plus_millis(PATIENCE);
            let data = WebhookFailing {
                failing_since: since.to_string(),
                disabled_after: disabled_after.to_string(),
            };
            let failing = FailingWebhook { tenant: ctx.tenant.clone(), notice, since, disabled_after };
            Ok::<_, StoreError>(Audited::new(Some(failing), Event::new(id.as_str(), &data)))
        };
        self.store.write(ctx(&self.env, &key.tenant), work).await
    }

    /// Returns a webhook and who is notified of it; `None` if it was removed.
    pub async fn notice(&self, key: &Key) -> StoreResult<Option<WebhookNotice>> {
        let id = key.subscription.clone();
        self.store.read(key.tenant.clone(), async move |tx: &mut Tx| tx.webhook_notice(&id).await).await
    }

    /// Counts the pending deliveries of all tenants.
    pub async fn backlog(&self) -> StoreResult<WebhookBacklog> {
        let now = self.env.now();
        self.store.across(async move |across: &mut Across| across.webhook_backlog(now).await).await
    }

    /// Purges attempts older than 30 days, and removed subscriptions with their attempts. A subscription that cannot
    /// be purged is passed to `failed`, and the others follow.
    pub async fn purge_expired(&self, failed: impl Fn(&TenantId, &StoreError)) -> StoreResult<()> {
        let mut after: Option<Key> = None;
        loop {
            let last = after.take();
            let next = async move |across: &mut Across| across.webhooks_after(last.as_ref(), AT_ONCE).await;
            let keys = self.store.across(next).await?;
            for key in &keys {
                if let Err(error) = self.purge(key).await {
                    failed(&key.tenant, &error);
                }
            }
            let Some(last) = keys.into_iter().next_back() else { return Ok(()) };
            after = Some(last);
        }
    }

    /// Purges the expired attempts of one subscription in batches with pauses.
    async fn purge(&self, key: &Key) -> StoreResult<()> {
        loop {
            let id = key.subscription.clone();
            let purge = async move |ctx: &Ctx, tx: &mut Tx| tx.purge_deliveries(&id, ctx.now).await;
            if !self.write(&key.tenant, purge).await? {
                return Ok(());
            }
            tokio::time::sleep(BREATH).await;
        }
    }

    /// Runs a unit of work that changes only deliveries.
    async fn write<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            Ok::<_, StoreError>(Audited::without(work(ctx, tx).await?, Unaudited::Delivered))
        };
        self.store.write(ctx(&self.env, tenant), work).await
    }
}
