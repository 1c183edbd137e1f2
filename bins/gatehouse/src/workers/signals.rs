//! Pushes shared signals, independently of requests. Every instance with the worker role takes part.

use std::sync::Arc;

use actix_web::web;
use kernel::{Env, Secret, StoreError, TenantId, Timestamp};
use signals::{Key, KeyError, Problem, SealSecret, SignalObserver, Worker, WorkerLimits};
use store::{PushQueue, Store};
use tokio::sync::Notify;

use crate::{
    api::{Site, ssf},
    area_metrics,
};

/// The worker that pushes shared signals.
pub(crate) struct SignalWorker {
    store: Arc<Store>,
    env: Arc<dyn Env>,
    site: web::Data<Site>,
    /// Stops the worker.
    end: Notify,
}

impl SignalWorker {
    pub(crate) fn new(store: Arc<Store>, env: Arc<dyn Env>, site: web::Data<Site>) -> Self {
        Self { store, env, site, end: Notify::new() }
    }

    /// Pushes until stopped, then completes what is being sent.
    pub(crate) async fn run(&self) {
        let client = match self.site.webhooks.another_client() {
            Ok(client) => client,
            Err(error) => {
                tracing::error!(%error, "shared signals cannot be pushed");
                return;
            }
        };
        let base_url = self.site.pipeline.base_url.clone();
        let worker = Worker {
            queue: Arc::new(PushQueue::new(Arc::clone(&self.store), Arc::clone(&self.env))),
            client,
            user_agent: self.site.webhooks.user_agent,
            seal: Arc::new(CurrentKeys(self.site.clone())),
            issuer: Box::new(move |tenant: &TenantId| ssf::issuer(&base_url, tenant)),
            seen: Arc::new(Observer),
            env: Arc::clone(&self.env),
            news: self.store.signal_news().clone(),
            limits: WorkerLimits::default(),
        };
        worker.run(self.end.notified()).await;
    }

    /// Lets [`SignalWorker::run`] end.
    pub(crate) fn finish(&self) {
        self.end.notify_one();
    }
}

/// The keys of the server, which may be rotated while it runs.
struct CurrentKeys(web::Data<Site>);

impl SealSecret for CurrentKeys {
    fn seal(&self, place: &str, secret: &Secret<Vec<u8>>) -> Result<String, KeyError> {
        self.0.pipeline.keys.signals().seal(place, secret)
    }

    fn open(&self, place: &str, sealed: &str) -> Result<Secret<Vec<u8>>, KeyError> {
        self.0.pipeline.keys.signals().open(place, sealed)
    }
}

/// Updates metrics and writes log lines.
struct Observer;

impl SignalObserver for Observer {
    fn delivered(&self, key: &Key, jti: &str) {
        area_metrics::signal_pushed("delivered");
        tracing::debug!(
            tenant = key.tenant.as_str(),
            stream = key.stream.as_str(),
            jti,
            "a signal was delivered"
        );
    }

    fn refused(&self, key: &Key, jti: &str, problem: &Problem) {
        area_metrics::signal_pushed("refused");
        tracing::warn!(
            tenant = key.tenant.as_str(),
            stream = key.stream.as_str(),
            jti,
            error = problem.error,
            description = problem.description,
            "a receiver refused a signal"
        );
    }

    fn failed(&self, key: &Key, problem: &Problem, since: Timestamp) {
        area_metrics::signal_pushed("failed");
        tracing::info!(
            tenant = key.tenant.as_str(),
            stream = key.stream.as_str(),
            problem = problem.code,
            status = problem.status,
            error = problem.error,
            since = since.to_string(),
            "a signal was not delivered"
        );
    }

    fn queue_failed(&self, key: Option<&Key>, error: &StoreError) {
        area_metrics::signal_queue_failed();
        tracing::warn!(
            tenant = key.map(|key| key.tenant.as_str()),
            stream = key.map(|key| key.stream.as_str()),
            %error,
            "a database operation of shared signals failed"
        );
    }
}
