//! Pushes the events of all tenants (RFC 8935).

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use kernel::{Env, Secret, StoreError, StoreResult, TenantId, Timestamp};
use tokio::{
    task::{JoinSet, spawn_blocking},
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use webhooks::client::Client;

use crate::{
    Delivery, Done, Key, KeyError, Lease, News, Problem, SealSecret, SignalQueue, Taken,
    delivery::{open_header, prepare, sign},
};

/// Interval of looking for streams with pending events.
const EVERY: Duration = Duration::from_secs(1);
/// Milliseconds after which another worker may take a stream whose worker does nothing any more. Longer than a push takes.
const LEASE: i64 = 45_000;
/// The shortest pause after a failure, in milliseconds.
const SHORTEST: i64 = 1_000;
/// The longest pause after a failure, in milliseconds.
const LONGEST: i64 = 300_000;
/// The most streams that one look finds.
const FOUND: usize = 1_000;
/// Number of events that are read and signed together.
const AT_ONCE: i64 = 20;
/// How long a worker sends one stream before others get their turn.
const TURN: Duration = Duration::from_secs(20);
/// Time limit of completing pushes at shutdown. Longer than a push takes.
const LAST: Duration = Duration::from_secs(16);

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

/// Observes a worker, for metrics and log lines.
pub trait SignalObserver: Send + Sync {
    /// A receiver accepted a token.
    fn delivered(&self, key: &Key, jti: &str);
    /// A receiver cannot read a token, which is not sent again.
    fn refused(&self, key: &Key, jti: &str, problem: &Problem);
    /// A token was not accepted, and will be sent again. The time is that of the first failure since the last success.
    fn failed(&self, key: &Key, problem: &Problem, since: Timestamp);
    /// A database operation failed.
    fn queue_failed(&self, key: Option<&Key>, error: &StoreError);
}

/// Pushes the events of all tenants. Several instances may do it at the same time; a lease lets one of them send a
/// stream.
pub struct Worker {
    /// The streams.
    pub queue: Arc<dyn SignalQueue>,
    /// Connects to public addresses only.
    pub client: Client,
    /// `User-Agent` of requests.
    pub user_agent: &'static str,
    /// Decrypts keys and headers.
    pub seal: Arc<dyn SealSecret>,
    /// Returns the issuer of a tenant.
    pub issuer: Box<dyn Fn(&TenantId) -> String + Send + Sync>,
    /// Metrics and log lines.
    pub seen: Arc<dyn SignalObserver>,
    /// Time and randomness.
    pub env: Arc<dyn Env>,
    /// Announces new events of this process, which are sent at once.
    pub news: News,
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
    /// Pushes until `end`, then completes what is being sent.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let mut bytes = [0; 16];
        self.env.fill(&mut bytes);
        let owner = data_encoding::HEXLOWER.encode(&bytes);
        let news = self.news.clone();
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
                queued = news.next() => run.start(&mut tasks, queued),
                Some(_) = tasks.join_next() => {}
            }
        }
        run.is_ending.store(true, Ordering::Relaxed);
        let completed = async { while tasks.join_next().await.is_some() {} };
        if timeout(LAST, completed).await.is_err() {
            tracing::info!("pushes of signals were cut off; they are sent again");
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

/// What a stream is sent with.
struct Push {
    target: webhooks::client::Target,
    headers: HeaderMap,
}

impl Run {
    fn current(&self) -> std::sync::MutexGuard<'_, HashSet<Key>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a task for each stream that is due.
    async fn start_due(self: &Arc<Self>, tasks: &mut JoinSet<()>) {
        match self.worker.queue.due(&self.lease(), FOUND).await {
            Ok(due) => self.start(tasks, due),
            Err(error) => self.worker.seen.queue_failed(None, &error),
        }
    }

    /// Starts a task for each of these streams, as far as the limits permit.
    fn start(self: &Arc<Self>, tasks: &mut JoinSet<()>, keys: impl IntoIterator<Item = Key>) {
        for key in keys {
            if let Some(turn) = Turn::take(self, key) {
                tasks.spawn(async move {
                    if let Err(error) = turn.run.send_stream(&turn.key).await {
                        turn.run.end_after(&turn.key, &error).await;
                    }
                });
            }
        }
    }

    fn lease(&self) -> Lease {
        let now = self.worker.env.now();
        Lease { owner: self.owner.clone(), now, until: now.plus_millis(LEASE) }
    }

    /// Sends pending events of a stream one after the other, until there are none, one fails, or the turn ends.
    async fn send_stream(&self, key: &Key) -> StoreResult<()> {
        let queue = &self.worker.queue;
        let ends_at = Instant::now() + TURN;
        let mut since = None;
        loop {
            // Read again for each part, with the settings that the stream has then.
            let Some(taken) = queue.take(key, &self.lease(), AT_ONCE).await? else { return Ok(()) };
            since = since.or(taken.state.failing_since);
            if taken.events.is_empty() || self.is_ending.load(Ordering::Relaxed) || Instant::now() > ends_at {
                return queue.release(key, &self.lease()).await;
            }
            let Ok(Some(push)) = self.push_of(&taken) else {
                return self.fail(key, since, &Problem::new("KEY")).await;
            };
            let Ok((tokens, empty)) = self.sign(&taken).await else {
                return self.fail(key, since, &Problem::new("KEY")).await;
            };
            if !empty.is_empty() && !queue.advance(key, &self.lease(), &empty, &Done::Empty).await? {
                return Ok(());
            }
            for (jti, token) in tokens {
                let done = match self.post(&push, token).await {
                    Ok(()) => Done::Accepted,
                    Err(problem) if problem.is_final() => Done::Refused(problem),
                    Err(problem) => return self.fail(key, since, &problem).await,
                };
                match &done {
                    Done::Refused(problem) => self.worker.seen.refused(key, &jti, problem),
                    _ => self.worker.seen.delivered(key, &jti),
                }
                since = None;
                // Without the lease, the stream was changed, disabled or deleted.
                if !queue.advance(key, &self.lease(), &[jti], &done).await? {
                    return Ok(());
                }
                if self.is_ending.load(Ordering::Relaxed) || Instant::now() > ends_at {
                    return queue.release(key, &self.lease()).await;
                }
            }
        }
    }

    /// Ends the turn of a stream whose events could not be read or recorded.
    async fn end_after(&self, key: &Key, error: &StoreError) {
        self.worker.seen.queue_failed(Some(key), error);
        if let Err(error) = self.fail(key, None, &Problem::new("DATABASE")).await {
            // The lease ends by itself.
            tracing::debug!(%error, "the failure of a stream of signals could not be recorded");
        }
    }

    async fn fail(&self, key: &Key, since: Option<Timestamp>, problem: &Problem) -> StoreResult<()> {
        let now = self.worker.env.now();
        let failing = since.map_or(0, |since| now.unix_millis() - since.unix_millis());
        let pause = (failing / 2).clamp(SHORTEST, LONGEST);
        let failed = self.worker.queue.fail(key, &self.lease(), problem, now.plus_millis(pause)).await?;
        if let Some(since) = failed {
            self.worker.seen.failed(key, problem, since);
        }
        Ok(())
    }

    /// Returns what a stream is sent with; `None` if its URL cannot be used any more.
    fn push_of(&self, taken: &Taken) -> Result<Option<Push>, KeyError> {
        let Delivery::Push(url) = &taken.stream.delivery else { return Ok(None) };
        let Ok(target) = self.worker.client.guard().target(url) else { return Ok(None) };
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/secevent+jwt"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(self.worker.user_agent));
        if let Some(value) = open_header(&taken.stream, &*self.worker.seal)? {
            let value = Secret::new(value);
            let mut value =
                HeaderValue::from_str(value.expose()).map_err(|_| KeyError("used in a header"))?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        Ok(Some(Push { target, headers }))
    }

    /// Signs the events of a stream, outside of this thread. Also returns the IDs of events that result in no token.
    async fn sign(&self, taken: &Taken) -> Result<(Vec<(String, String)>, Vec<String>), KeyError> {
        let issuer = (self.worker.issuer)(&taken.tenant);
        let (claims, without) = prepare(&taken.receiver, &taken.stream, &issuer, &taken.events);
        if claims.is_empty() {
            return Ok((Vec::new(), without));
        }
        let stored = taken.key.clone().ok_or(KeyError("used: there is none"))?;
        let seal = Arc::clone(&self.worker.seal);
        let signed = spawn_blocking(move || sign(&stored.open(&*seal)?, claims));
        Ok((signed.await.map_err(|_| KeyError("used"))??, without))
    }

    async fn post(&self, push: &Push, token: String) -> Result<(), Problem> {
        let answer = self.worker.client.post(&push.target, push.headers.clone(), Bytes::from(token)).await;
        match answer {
            Ok(answer) if (200..300).contains(&answer.status) => Ok(()),
            Ok(answer) => Err(Problem::of_response(answer.status, &answer.body)),
            Err(failure) => Err(Problem::new(failure.as_str())),
        }
    }
}
