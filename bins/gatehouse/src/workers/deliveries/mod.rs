//! Delivers webhooks, independently of requests.
//!
//! Every instance with the worker role takes part. A subscription is delivered to by the instance that has its lease.
//! Commits on this instance wake its dispatcher at once; other instances are notified if they deliver. Polling finds
//! events without a notification within a second.

mod area;
mod jobs;
mod notices;

use std::sync::Arc;

use actix_web::web;
use audit::{EventData, events::webhooks::WebhookDisabled};
use gate::meter;
use kernel::{Env, StoreError};
use store::{DispatchQueue, Store, WebhookUpkeep};
use tokio::sync::{Notify, mpsc::Sender};
use webhooks::{
    DisabledReason, DispatchObserver, Dispatcher, HttpDeliver, Key, KeyError, Limits, Report, Wakeups,
};

pub(crate) use self::area::{Webhooks, client};
use self::notices::{DisabledWebhook, Notices};
use crate::{api::Site, area_metrics};

/// Concurrent attempts of one tenant, as a multiple of those to one subscription.
const OF_A_TENANT: usize = 16;

/// The delivery worker, with the periodic webhook jobs.
pub(crate) struct Deliveries {
    store: Arc<Store>,
    env: Arc<dyn Env>,
    site: web::Data<Site>,
    /// Stops the dispatcher.
    end: Notify,
}

impl Deliveries {
    pub(crate) fn new(store: Arc<Store>, env: Arc<dyn Env>, site: web::Data<Site>) -> Self {
        Self { store, env, site, end: Notify::new() }
    }

    /// Delivers until stopped, then completes the running attempts.
    pub(crate) async fn run(&self) {
        let settings = self.site.webhooks.settings();
        let client = match self.site.webhooks.another_client() {
            Ok(client) => client,
            Err(error) => {
                tracing::error!(%error, "the delivery worker cannot start");
                return;
            }
        };
        let (site, elsewhere, heard) = (self.site.clone(), Wakeups::default(), Wakeups::default());
        let deliver = HttpDeliver {
            client,
            keys: Box::new(move || site.pipeline.keys.webhooks()),
            env: Arc::clone(&self.env),
            user_agent: self.site.webhooks.user_agent,
        };
        let (disabled, newly_disabled) = notices::queue();
        let limits = Limits {
            subscription: settings.in_flight,
            tenant: (settings.in_flight * OF_A_TENANT).min(Limits::default().tenant),
            rate: settings.rate,
            ..Limits::default()
        };
        let dispatcher = Dispatcher {
            queue: Arc::new(DispatchQueue::new(Arc::clone(&self.store), Arc::clone(&self.env))),
            deliver: Arc::new(deliver),
            seen: Arc::new(DeliveryObserver { elsewhere: elsewhere.clone(), disabled }),
            env: Arc::clone(&self.env),
            limits,
            news: self.store.wakeups().clone(),
            heard: heard.clone(),
        };
        let upkeep = WebhookUpkeep::new(Arc::clone(&self.store), Arc::clone(&self.env));
        let notices = Notices { upkeep: &upkeep, env: &self.env, site: &self.site };
        let beside = async {
            tokio::join!(
                self.store.relay(&elsewhere, &heard),
                jobs::run(&upkeep),
                notices.run(newly_disabled)
            );
        };
        tokio::select! {
            () = dispatcher.run(self.end.notified()) => {}
            () = beside => {}
        }
    }

    /// Notifies delivering instances of commits on this instance, which does not deliver itself.
    pub(crate) async fn notify(&self) {
        self.store.relay(self.store.wakeups(), &Wakeups::default()).await;
    }

    /// Stops sending; [`Deliveries::run`] then returns.
    pub(crate) fn finish(&self) {
        self.end.notify_one();
    }
}

/// Updates metrics and writes log lines.
struct DeliveryObserver {
    elsewhere: Wakeups,
    /// Webhooks whose administrators have to be notified.
    disabled: Sender<DisabledWebhook>,
}

impl DispatchObserver for DeliveryObserver {
    fn attempted(&self, key: &Key, report: &Report) {
        let outcome = &report.outcome;
        area_metrics::attempted(outcome.label(), outcome.duration_ms);
        let attempt = &report.attempt;
        if outcome.is_success() {
            tracing::debug!(
                tenant = key.tenant.as_str(),
                subscription = key.subscription.as_str(),
                delivery = attempt.id.as_str(),
                millis = outcome.duration_ms,
                "delivered"
            );
        } else {
            tracing::info!(
                tenant = key.tenant.as_str(),
                subscription = key.subscription.as_str(),
                delivery = attempt.id.as_str(),
                attempt = attempt.number,
                outcome = outcome.label(),
                status = outcome.status,
                next = report.next.as_ref().map(|next| next.at.to_string()),
                "not delivered"
            );
        }
    }

    fn at_work(&self, in_flight: usize, subscriptions: usize) {
        area_metrics::delivering(in_flight, subscriptions);
    }

    fn unsigned(&self, key: &Key, error: &KeyError) {
        area_metrics::unsigned();
        tracing::error!(
            %error,
            tenant = key.tenant.as_str(),
            subscription = key.subscription.as_str(),
            "a webhook receives nothing, because its signing secret cannot be derived"
        );
    }

    fn disabled(&self, key: &Key, reason: DisabledReason) {
        meter::count_recorded(&[WebhookDisabled::CODE]);
        tracing::warn!(
            tenant = key.tenant.as_str(),
            subscription = key.subscription.as_str(),
            reason = reason.as_str(),
            "a webhook was disabled"
        );
        if self.disabled.try_send((key.clone(), reason)).is_err() {
            tracing::warn!(subscription = key.subscription.as_str(), "its administrators are not notified");
        }
    }

    fn failed(&self, doing: &'static str, error: &StoreError) {
        area_metrics::queue_failed();
        tracing::warn!(%error, doing, "a database operation of the delivery queue failed");
    }

    fn elsewhere(&self, key: &Key, has_changed: bool) {
        self.elsewhere.notify(key.clone(), has_changed);
    }
}
