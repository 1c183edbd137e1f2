//! Sends log streams, independently of requests. Every instance with the worker role takes part.

mod notices;

use std::{sync::Arc, time::Duration};

use actix_web::web;
use audit::{EventData as _, events::log_streams::LogStreamFailing};
use gate::meter;
use kernel::{Env, Secret, StoreError, Timestamp};
use log_streams::{
    Batch, DestinationType, FailureNote, Key, LogStreamId, Problem, SealSecret, SecretError, StreamObserver,
    Worker, WorkerLimits,
};
use store::{Across, LogStreamQueue, Store};
use tokio::{
    sync::{Notify, mpsc::Sender},
    time::{MissedTickBehavior, interval},
};

use self::notices::{FailingStream, Notices};
use crate::{
    api::{Site, settings::event_source},
    area_metrics,
};

/// Interval of counting what streams have yet to send.
const EVERY: Duration = Duration::from_secs(15);

/// The worker that sends log streams.
pub(crate) struct LogStreamWorker {
    store: Arc<Store>,
    env: Arc<dyn Env>,
    site: web::Data<Site>,
    /// Stops the worker.
    end: Notify,
}

impl LogStreamWorker {
    pub(crate) fn new(store: Arc<Store>, env: Arc<dyn Env>, site: web::Data<Site>) -> Self {
        Self { store, env, site, end: Notify::new() }
    }

    /// Sends until stopped, then completes the batches that are being sent.
    pub(crate) async fn run(&self) {
        let client = match self.site.webhooks.another_client() {
            Ok(client) => client,
            Err(error) => {
                tracing::error!(%error, "log streams cannot be sent");
                return;
            }
        };
        let (failing, newly_failing) = notices::queue();
        let worker = Worker {
            queue: Arc::new(LogStreamQueue::new(Arc::clone(&self.store), Arc::clone(&self.env))),
            sending: self.site.log_sending(client),
            keys: Box::new(CurrentKeys(self.site.clone())),
            source: Box::new(event_source),
            seen: Arc::new(Observer { failing }),
            env: Arc::clone(&self.env),
            limits: WorkerLimits::default(),
        };
        let notices = Notices { store: &self.store, site: &self.site };
        let beside = async { tokio::join!(self.measure(), notices.run(newly_failing)) };
        tokio::select! {
            () = worker.run(self.end.notified()) => {}
            _ = beside => {}
        }
    }

    /// Lets [`LogStreamWorker::run`] end.
    pub(crate) fn finish(&self) {
        self.end.notify_one();
    }

    /// Counts what streams have yet to send, until cancelled.
    async fn measure(&self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let counted =
                self.store.across(async |across: &mut Across| across.log_stream_backlog().await).await;
            if let Err(error) = &counted {
                tracing::warn!(%error, "log streams could not be counted");
            }
            area_metrics::log_stream_backlog(counted.ok());
        }
    }
}

/// The keys of the server, which may be rotated while it runs.
struct CurrentKeys(web::Data<Site>);

impl SealSecret for CurrentKeys {
    fn seal(&self, stream: &LogStreamId, secret: &Secret<String>) -> Result<String, SecretError> {
        self.0.pipeline.keys.log_streams().seal(stream, secret)
    }

    fn open(&self, stream: &LogStreamId, sealed: &str) -> Result<Secret<String>, SecretError> {
        self.0.pipeline.keys.log_streams().open(stream, sealed)
    }
}

/// Updates metrics and writes log lines.
struct Observer {
    /// Streams whose administrators have to be notified.
    failing: Sender<FailingStream>,
}

impl StreamObserver for Observer {
    fn sent(&self, key: &Key, kind: DestinationType, batch: &Batch) {
        area_metrics::log_batch(kind.label(), Some(batch.entries()));
        tracing::debug!(
            tenant = key.tenant.as_str(),
            stream = key.stream.as_str(),
            from = batch.from,
            next = batch.next,
            entries = batch.entries(),
            "audit entries were sent"
        );
    }

    fn failed(&self, key: &Key, kind: DestinationType, problem: &Problem, note: FailureNote) {
        area_metrics::log_batch(kind.label(), None);
        tracing::info!(
            tenant = key.tenant.as_str(),
            stream = key.stream.as_str(),
            problem = problem.code,
            status = problem.status,
            since = note.since.to_string(),
            "audit entries were not sent"
        );
        if note.is_notice_due {
            meter::count_recorded(&[LogStreamFailing::CODE]);
            self.notify(key, problem, note.since);
        }
    }

    fn queue_failed(&self, key: Option<&Key>, error: &StoreError) {
        area_metrics::log_queue_failed();
        tracing::warn!(
            tenant = key.map(|key| key.tenant.as_str()),
            stream = key.map(|key| key.stream.as_str()),
            %error,
            "a database operation of log streams failed"
        );
    }

    fn at_work(&self, streams: usize) {
        area_metrics::log_streams_at_work(streams);
    }
}

impl Observer {
    fn notify(&self, key: &Key, problem: &Problem, since: Timestamp) {
        tracing::warn!(
            tenant = key.tenant.as_str(),
            stream = key.stream.as_str(),
            problem = problem.code,
            since = since.to_string(),
            "a log stream fails"
        );
        let failing = FailingStream { key: key.clone(), problem: problem.code.clone(), since };
        if self.failing.try_send(failing).is_err() {
            tracing::warn!(stream = key.stream.as_str(), "its administrators are not notified");
        }
    }
}
