//! Notifies administrators of webhooks that fail or were disabled, and measures the backlog.

use std::{sync::Arc, time::Duration};

use actix_web::web;
use audit::{EventData as _, events::webhooks::WebhookFailing};
use directory::Message;
use gate::meter;
use kernel::{Env, StoreResult, TenantId};
use store::{FailingWebhook, WebhookNotice, WebhookUpkeep};
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    time::{MissedTickBehavior, interval},
};
use webhooks::{DisabledReason, Key};

use super::jobs::{log_problem, log_tenant_problem};
use crate::{api::Site, area_metrics};

/// Interval of looking for failing webhooks.
const EVERY: Duration = Duration::from_mins(1);
/// Disabled webhooks that wait for their message. Further ones are logged only.
const QUEUED: usize = 1_000;

/// A webhook that was disabled just now.
pub(super) type DisabledWebhook = (Key, DisabledReason);

/// Returns both ends of the queue of webhooks that were disabled.
pub(super) fn queue() -> (Sender<DisabledWebhook>, Receiver<DisabledWebhook>) {
    channel(QUEUED)
}

/// Notifies administrators of webhooks.
pub(super) struct Notices<'d> {
    pub(super) upkeep: &'d WebhookUpkeep,
    pub(super) env: &'d Arc<dyn Env>,
    pub(super) site: &'d web::Data<Site>,
}

impl Notices<'_> {
    /// Runs until cancelled.
    pub(super) async fn run(&self, mut disabled: Receiver<DisabledWebhook>) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => self.look().await,
                Some((key, reason)) = disabled.recv() => self.tell_disabled(&key, reason).await,
            }
        }
    }

    async fn look(&self) {
        match self.look_at_failures().await {
            Ok(count) => area_metrics::webhooks_failing(count),
            Err(error) => log_problem("failing webhooks could not be found", Err(error)),
        }
        match self.upkeep.backlog().await {
            Ok(backlog) => area_metrics::webhook_backlog(Some(&backlog), self.env.now()),
            Err(error) => {
                area_metrics::webhook_backlog(None, self.env.now());
                log_problem("pending deliveries could not be counted", Err(error));
            }
        }
    }

    /// Notifies administrators of webhooks that fail for an hour or are disabled in a day. Returns the number of all that
    /// fail.
    async fn look_at_failures(&self) -> StoreResult<usize> {
        let (mut after, mut count) = (None, 0);
        loop {
            let failed = log_tenant_problem("administrators could not be notified of a failing webhook");
            let noticed = self.upkeep.notice_failures(after, failed).await?;
            count += noticed.count;
            for failing in noticed.new {
                self.tell_failing(failing).await;
            }
            if noticed.last.is_none() {
                return Ok(count);
            }
            after = noticed.last;
        }
    }

    async fn tell_failing(&self, failing: FailingWebhook) {
        let FailingWebhook { tenant, notice, since, disabled_after } = failing;
        meter::count_recorded(&[WebhookFailing::CODE]);
        tracing::warn!(
            tenant = tenant.as_str(),
            subscription = notice.webhook.id.as_str(),
            since = since.to_string(),
            disabled_after = disabled_after.to_string(),
            "a webhook fails"
        );
        let page = self.page(&notice);
        let message =
            Message::webhook_failing(&notice.tenant, &notice.webhook.name, since, disabled_after, &page);
        self.send(&tenant, &notice, &message).await;
    }

    async fn tell_disabled(&self, key: &Key, reason: DisabledReason) {
        let notice = match self.upkeep.notice(key).await {
            Ok(Some(notice)) => notice,
            Ok(None) => return,
            Err(error) => {
                return log_tenant_problem("administrators could not be notified of a disabled webhook")(
                    &key.tenant,
                    &error,
                );
            }
        };
        let reason = match reason {
            DisabledReason::Gone => "its receiver answered 410 Gone",
            DisabledReason::Failing => "it has accepted no delivery for five days",
        };
        let page = self.page(&notice);
        let message = Message::webhook_disabled(&notice.tenant, &notice.webhook.name, reason, &page);
        self.send(&key.tenant, &notice, &message).await;
    }

    /// Returns the address of the webhook's page.
    fn page(&self, notice: &WebhookNotice) -> String {
        let base_url = self.site.pipeline.base_url.trim_end_matches('/');
        format!("{base_url}{}?id={}", crate::pages::WEBHOOKS, notice.webhook.id)
    }

    async fn send(&self, tenant: &TenantId, notice: &WebhookNotice, message: &Message) {
        if let Some(mail) = &self.site.mail {
            mail.notify(tenant.as_str(), &notice.recipients, message).await;
        }
    }
}
