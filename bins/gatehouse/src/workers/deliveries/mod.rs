//! Delivers webhooks, independently of requests.
//!
//! Every instance with the worker role takes part. A subscription is delivered to by the instance that has its lease.
//! Commits on this instance wake its dispatcher at once; other instances are notified if they deliver. Polling finds
//! events without a notification within a second.

mod area;
mod jobs;
mod queue;

use std::sync::Arc;

use actix_web::web;
use kernel::{Env, StoreError};
use store::Store;
use tokio::sync::Notify;
use webhooks::{
    AttemptError, DispatchObserver, Dispatcher, HttpDeliver, Key, KeyError, Limits, Report, Wakeups,
};

pub(crate) use self::area::Webhooks;
use self::queue::StoreQueue;
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
        let limits = Limits {
            subscription: settings.in_flight,
            tenant: (settings.in_flight * OF_A_TENANT).min(Limits::default().tenant),
            rate: settings.rate,
            ..Limits::default()
        };
        let dispatcher = Dispatcher {
            queue: Arc::new(StoreQueue::new(Arc::clone(&self.store), Arc::clone(&self.env))),
            deliver: Arc::new(deliver),
            seen: Arc::new(DeliveryObserver { elsewhere: elsewhere.clone() }),
            env: Arc::clone(&self.env),
            limits,
            news: self.store.wakeups().clone(),
            heard: heard.clone(),
        };
        let beside = async {
            tokio::join!(self.store.relay(&elsewhere, &heard), self.run_jobs());
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

/// Outcomes of an attempt, as labels of the metrics.
pub(crate) const OUTCOMES: [&str; 7] =
    ["succeeded", "refused", "timeout", "connect", "tls", "blocked", "event_dropped"];

/// Updates metrics and writes log lines.
struct DeliveryObserver {
    elsewhere: Wakeups,
}

impl DispatchObserver for DeliveryObserver {
    fn attempted(&self, key: &Key, report: &Report) {
        let outcome = &report.outcome;
        let word = match (outcome.is_success(), outcome.error) {
            (true, _) => "succeeded",
            (false, Some(AttemptError::Timeout)) => "timeout",
            (false, Some(AttemptError::Connect)) => "connect",
            (false, Some(AttemptError::Tls)) => "tls",
            (false, Some(AttemptError::Blocked)) => "blocked",
            (false, Some(AttemptError::EventDropped)) => "event_dropped",
            (false, None) => "refused",
        };
        area_metrics::attempted(word, outcome.duration_ms);
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
                outcome = word,
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

    fn failed(&self, doing: &'static str, error: &StoreError) {
        area_metrics::queue_failed();
        tracing::warn!(%error, doing, "a database operation of the delivery queue failed");
    }

    fn elsewhere(&self, key: &Key, has_changed: bool) {
        self.elsewhere.notify(key.clone(), has_changed);
    }
}
