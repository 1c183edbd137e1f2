//! Delivering webhooks, away from requests.
//!
//! Every instance does that works: a subscription is delivered to by the one that has its lease. What is committed here is told
//! to the dispatcher at once, and to others where they are the ones who deliver; what nobody has told is found a second later.

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

/// Subscriptions that are delivered to at the same time, of one tenant, for each delivery to one.
const OF_A_TENANT: usize = 16;

/// Delivers, and does what else has to be done for webhooks.
pub(crate) struct Deliveries {
    store: Arc<Store>,
    env: Arc<dyn Env>,
    site: web::Data<Site>,
    /// Tells the dispatcher to end.
    end: Notify,
}

impl Deliveries {
    pub(crate) fn new(store: Arc<Store>, env: Arc<dyn Env>, site: web::Data<Site>) -> Self {
        Self { store, env, site, end: Notify::new() }
    }

    /// Delivers until it is told to end, and finishes what is under way.
    pub(crate) async fn run(&self) {
        let settings = self.site.webhooks.settings();
        let client = match self.site.webhooks.another_client() {
            Ok(client) => client,
            Err(error) => {
                tracing::error!(%error, "webhooks are not delivered");
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
            news: self.store.news().clone(),
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

    /// Tells those who deliver of what is committed here, where this instance does not.
    pub(crate) async fn notify(&self) {
        self.store.relay(self.store.news(), &Wakeups::default()).await;
    }

    /// No more is sent; [`Deliveries::run`] comes to its end.
    pub(crate) fn finish(&self) {
        self.end.notify_one();
    }
}

/// What an attempt may come to, as `/metrics` has it.
pub(crate) const OUTCOMES: [&str; 7] =
    ["succeeded", "refused", "timeout", "connect", "tls", "blocked", "event_dropped"];

/// Counts, and writes what has to be known into the log.
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
            "nothing is delivered: the secret cannot be derived"
        );
    }

    fn failed(&self, doing: &'static str, error: &StoreError) {
        area_metrics::queue_failed();
        tracing::warn!(%error, doing, "the database did not do what deliveries asked of it");
    }

    fn elsewhere(&self, key: &Key, has_changed: bool) {
        self.elsewhere.notify(key.clone(), has_changed);
    }
}
