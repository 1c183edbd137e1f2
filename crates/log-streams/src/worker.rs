//! Sends the streams of all tenants.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use audit::ocsf::Source;
use kernel::{Env, StoreError, StoreResult, TenantId, Timestamp};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval, timeout},
};

use crate::{
    Batch, DestinationType, Key, Lease, LogPage, Problem, SealSecret, SendError, Sender, Sending,
    StreamQueue, Taken,
    encode::{BatchLimits, batches},
};

/// Interval of looking for streams with entries to send.
const EVERY: Duration = Duration::from_secs(1);
/// Milliseconds after which another worker may take a stream whose worker does nothing any more. Longer than a batch takes.
const LEASE: i64 = 45_000;
/// The shortest pause after a failure, in milliseconds.
const SHORTEST: i64 = 1_000;
/// The longest pause after a failure, in milliseconds.
const LONGEST: i64 = 300_000;
/// The pause after a failed database operation, in milliseconds.
const AFTER_OUTAGE: i64 = 30_000;
/// The most streams that one look finds. More than are sent at once, because the limit of a tenant excludes some.
const FOUND: usize = 1_000;
/// Time limit of completing batches at shutdown.
const LAST: Duration = Duration::from_secs(10);

/// How much a worker does at once.
#[derive(Debug, Clone, Copy)]
pub struct WorkerLimits {
    /// Streams.
    pub streams: usize,
    /// Streams of one tenant, so that its slow receivers do not hold up others.
    pub tenant: usize,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        Self { streams: 32, tenant: 4 }
    }
}

/// A failure of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureNote {
    /// The first failure since the last success.
    pub since: Timestamp,
    /// Whether administrators have to be notified now. An audit entry records it.
    pub is_notice_due: bool,
}

/// Observes a worker, for metrics and log lines.
pub trait StreamObserver: Send + Sync {
    /// A receiver accepted a batch.
    fn sent(&self, key: &Key, kind: DestinationType, batch: &Batch);
    /// A batch was not accepted.
    fn failed(&self, key: &Key, kind: DestinationType, problem: &Problem, note: FailureNote);
    /// A database operation failed.
    fn queue_failed(&self, key: Option<&Key>, error: &StoreError);
    /// Number of streams that are being sent.
    fn at_work(&self, streams: usize);
}

/// Sends the streams of all tenants. Several instances may do it at the same time; a lease lets one of them send a stream.
pub struct Worker {
    /// The streams.
    pub queue: Arc<dyn StreamQueue>,
    /// What all streams send with.
    pub sending: Sending,
    /// Decrypts their secrets.
    pub keys: Box<dyn SealSecret + Send + Sync>,
    /// Returns the source that events of a tenant name.
    pub source: Box<dyn Fn(&TenantId) -> Source + Send + Sync>,
    /// Metrics and log lines.
    pub seen: Arc<dyn StreamObserver>,
    /// Time and randomness.
    pub env: Arc<dyn Env>,
    /// How much is done at once.
    pub limits: WorkerLimits,
}

/// The state of a running worker.
struct Run {
    worker: Worker,
    owner: String,
    /// The streams that this worker sends.
    current: Mutex<HashSet<Key>>,
    is_ending: AtomicBool,
}

impl Worker {
    /// Sends until `end`, then completes the batches that are being sent.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let mut bytes = [0; 16];
        self.env.fill(&mut bytes);
        let owner = data_encoding::HEXLOWER.encode(&bytes);
        let run = Arc::new(Run {
            worker: self,
            owner,
            current: Mutex::default(),
            is_ending: AtomicBool::new(false),
        });
        let mut tasks = JoinSet::new();
        tokio::pin!(end);
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = &mut end => break,
                _ = ticks.tick() => run.start_due(&mut tasks).await,
                Some(_) = tasks.join_next() => {}
            }
        }
        run.is_ending.store(true, Ordering::Relaxed);
        let completed = async { while tasks.join_next().await.is_some() {} };
        if timeout(LAST, completed).await.is_err() {
            tracing::info!("batches of log streams were cut off; they are sent again");
        }
    }
}

/// The turn of a stream at this worker. It ends when this is dropped, also by a panic.
struct Turn {
    run: Arc<Run>,
    key: Key,
}

impl Turn {
    /// Returns `None` if the worker sends the stream already, or as many as it may.
    fn take(run: &Arc<Run>, key: Key) -> Option<Self> {
        let (mut current, limits) = (run.current(), run.worker.limits);
        let of_tenant = current.iter().filter(|one| one.tenant == key.tenant).count();
        let is_new =
            current.len() < limits.streams && of_tenant < limits.tenant && current.insert(key.clone());
        is_new.then(|| Self { run: Arc::clone(run), key })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.run.current().remove(&self.key);
    }
}

impl Run {
    fn current(&self) -> std::sync::MutexGuard<'_, HashSet<Key>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a task for each stream that is due, as far as the limit permits.
    async fn start_due(self: &Arc<Self>, tasks: &mut JoinSet<()>) {
        let worker = &self.worker;
        let due = match worker.queue.due(&self.lease(), FOUND).await {
            Ok(due) => due,
            Err(error) => return worker.seen.queue_failed(None, &error),
        };
        for key in due {
            if let Some(turn) = Turn::take(self, key) {
                tasks.spawn(async move {
                    if let Err(error) = turn.run.send_stream(&turn.key).await {
                        turn.run.end_after(&turn.key, &error).await;
                    }
                });
            }
        }
        worker.seen.at_work(self.current().len());
    }

    fn lease(&self) -> Lease {
        let now = self.worker.env.now();
        Lease { owner: self.owner.clone(), now, until: now.plus_millis(LEASE) }
    }

    /// Sends a stream until it has sent everything, fails, or the worker ends.
    async fn send_stream(&self, key: &Key) -> StoreResult<()> {
        let Some(taken) = self.worker.queue.take(key, &self.lease()).await? else { return Ok(()) };
        let source = (self.worker.source)(&key.tenant);
        let kind = taken.stream.destination.kind;
        let secret = taken.stream.sealed.as_ref().map(|sealed| self.worker.keys.open(&key.stream, sealed));
        let Ok(secret) = secret.transpose() else {
            let error = SendError::new(Problem::new("KEY"));
            return self.fail(key, (kind, taken.state.failing_since), error, false).await;
        };
        let sender = Sender::new(&self.worker.sending, &taken.stream, secret, &source);
        let sent = self.send_pages(key, &taken, (&sender, &source)).await?;
        let now = self.worker.env.now();
        match sent {
            Sent::All => self.worker.queue.release(key, &self.lease(), now, true).await,
            Sent::Later(at) => self.worker.queue.release(key, &self.lease(), at, false).await,
            Sent::Ended => self.worker.queue.release(key, &self.lease(), now, false).await,
            Sent::Lost => Ok(()),
            Sent::Failed { error, since } => {
                self.fail(key, (kind, since), error, kind.is_unconfirmed()).await
            }
            Sent::RolledBack => {
                let error = SendError::new(Problem::new("LOG_ROLLED_BACK"));
                self.fail(key, (kind, taken.state.failing_since), error, false).await
            }
        }
    }

    /// Ends the turn of a stream whose entries could not be read or recorded.
    async fn end_after(&self, key: &Key, error: &StoreError) {
        self.worker.seen.queue_failed(Some(key), error);
        let later = self.worker.env.now().plus_millis(AFTER_OUTAGE);
        let failed =
            self.worker.queue.fail(key, &self.lease(), &Problem::new("DATABASE"), later, false).await;
        if let Err(error) = failed {
            // The lease ends by itself.
            tracing::debug!(%error, "the failure of a log stream could not be recorded");
        }
    }

    async fn fail(
        &self,
        key: &Key,
        (kind, since): (DestinationType, Option<Timestamp>),
        error: SendError,
        repeats_last: bool,
    ) -> StoreResult<()> {
        let now = self.worker.env.now();
        let failing = since.map_or(0, |since| now.unix_millis() - since.unix_millis());
        let pause = (failing / 2).clamp(SHORTEST, LONGEST).max(error.retry_after.unwrap_or_default());
        let (queue, lease) = (&self.worker.queue, self.lease());
        let noted = queue.fail(key, &lease, &error.problem, now.plus_millis(pause), repeats_last).await?;
        if let Some(note) = noted {
            self.worker.seen.failed(key, kind, &error.problem, note);
        }
        Ok(())
    }

    /// Reads and sends one page after the other. The next page is read while the batches of a page are sent.
    async fn send_pages(
        &self,
        key: &Key,
        taken: &Taken,
        (sender, source): (&Sender<'_>, &Source),
    ) -> StoreResult<Sent> {
        let kind = taken.stream.destination.kind;
        let limits = kind.limits();
        let (mut position, mut range_from) = (taken.state.position, taken.range_from);
        let mut delivered_at = taken.state.delivered_at;
        let mut page = self.read(key, position, limits).await?;
        loop {
            if position > page.size {
                return Ok(Sent::RolledBack);
            }
            if page.next == position {
                return Ok(Sent::All);
            }
            if let Some(at) =
                collecting(kind, &page, limits, delivered_at).filter(|at| *at > self.worker.env.now())
            {
                return Ok(Sent::Later(at));
            }
            let next = self.read(key, page.next, limits);
            let send = self.send_page(key, taken, sender, (source, &page), (position, range_from));
            let (sent, next) = futures_util::future::join(send, next).await;
            match sent? {
                PageEnd::Sent { range } => range_from = range,
                PageEnd::Other(sent) => return Ok(sent),
            }
            delivered_at = Some(self.worker.env.now());
            position = page.next;
            page = next?;
        }
    }

    async fn read(&self, key: &Key, from: u64, limits: BatchLimits) -> StoreResult<LogPage> {
        self.worker.queue.read(&key.tenant, from, limits.entries).await
    }

    /// Sends the batches of a page, and records each. Smaller batches follow if the receiver wants them.
    async fn send_page(
        &self,
        key: &Key,
        taken: &Taken,
        sender: &Sender<'_>,
        (source, page): (&Source, &LogPage),
        (mut position, mut range_from): (u64, u64),
    ) -> StoreResult<PageEnd> {
        let (queue, kind) = (&self.worker.queue, taken.stream.destination.kind);
        let mut limits = kind.limits();
        'again: loop {
            let made =
                batches(&taken.stream, page, (range_from, position), (source, self.worker.env.now()), limits);
            let Ok(made) = made else {
                return Err(StoreError::Corrupt("audit_entries.metadata: not JSON".into()));
            };
            for batch in &made {
                if let Err(error) = sender.send(batch, self.worker.env.now()).await {
                    if error.is_too_large() && batch.entries() > 1 {
                        limits.entries = batch.entries() / 2;
                        continue 'again;
                    }
                    // An accepted batch has ended the earlier failures.
                    let since = taken.state.failing_since.filter(|_| position == taken.state.position);
                    return Ok(PageEnd::Other(Sent::Failed { error, since }));
                }
                self.worker.seen.sent(key, kind, batch);
                if !queue.advance(key, &self.lease(), (position, batch.next), Some(batch.from)).await? {
                    return Ok(PageEnd::Other(Sent::Lost));
                }
                (position, range_from) = (batch.next, batch.next);
                if self.is_ending.load(Ordering::Relaxed) {
                    return Ok(PageEnd::Other(Sent::Ended));
                }
            }
            if position < page.next && !queue.advance(key, &self.lease(), (position, page.next), None).await?
            {
                return Ok(PageEnd::Other(Sent::Lost));
            }
            return Ok(PageEnd::Sent { range: range_from });
        }
    }
}

/// How sending a stream ended.
enum Sent {
    /// There is nothing more to send.
    All,
    /// There are a few entries, which are sent together with further ones at this time.
    Later(Timestamp),
    /// The worker ends.
    Ended,
    /// The lease is lost, or the stream was changed or moved.
    Lost,
    /// The log has fewer entries than the stream has sent.
    RolledBack,
    /// The receiver did not accept a batch.
    Failed {
        error: SendError,
        /// The first failure since the last success.
        since: Option<Timestamp>,
    },
}

/// How sending a page ended.
enum PageEnd {
    /// All was sent. The next range begins here.
    Sent {
        range: u64,
    },
    Other(Sent),
}

/// Returns when a page that is not full is sent, if its protocol collects entries.
fn collecting(
    kind: DestinationType,
    page: &LogPage,
    limits: BatchLimits,
    delivered_at: Option<Timestamp>,
) -> Option<Timestamp> {
    let is_full = page.entries.len() >= limits.entries || page.next < page.size;
    let delivered_at = delivered_at.filter(|_| kind.collects() > 0 && !is_full)?;
    Some(delivered_at.plus_millis(kind.collects()))
}
