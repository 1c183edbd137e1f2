//! The test environment. Time advances only while all tasks are idle, for both clocks.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use kernel::{Actor, Ctx, Env, ManualEnv, MasterKeys, Secret, StoreError, StoreResult, TenantId, Timestamp};
use tokio::time::Instant;
use webhooks::{
    Attempt, AttemptError, Batch, Deliverer, DisabledReason, DispatchObserver, Dispatcher, Key, KeyError,
    Lease, LeaseOutcome, Limits, MemoryQueue, New, Outcome, PublishedEvent, Queue, Receiver, Recorded,
    SecretKeys, Signers, Wakeups, client::AddressGuard,
};

/// An environment whose clock follows the runtime's paused clock.
pub(crate) struct OneClock {
    start: Instant,
    random: ManualEnv,
}

impl OneClock {
    /// Advances the wall clock, but not the runtime's.
    pub(crate) fn advance(&self, millis: i64) {
        self.random.advance_millis(millis);
    }
}

impl Env for OneClock {
    fn now(&self) -> Timestamp {
        let millis = i64::try_from(self.start.elapsed().as_millis()).unwrap();
        self.random.now().plus_millis(millis)
    }

    fn fill(&self, bytes: &mut [u8]) {
        self.random.fill(bytes);
    }
}

/// The behavior of a receiver: responds after a delay, or never.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    Answer(u16, Duration),
    Never,
}

/// A delivery that was sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) url: String,
    pub(crate) event: String,
    pub(crate) at: Timestamp,
    pub(crate) number: u32,
}

/// A simulated network of receivers.
pub(crate) struct Network {
    env: Arc<dyn Env>,
    does: Mutex<HashMap<String, Does>>,
    pub(crate) sent: Mutex<Vec<Sent>>,
    flying: Mutex<HashMap<String, usize>>,
    pub(crate) most: Mutex<HashMap<String, usize>>,
    all: AtomicUsize,
    pub(crate) most_of_all: AtomicUsize,
    pub(crate) keys: Mutex<Arc<SecretKeys>>,
    pub(crate) retry_after: Mutex<Option<String>>,
}

#[async_trait]
impl Deliverer for Network {
    fn signers(&self, key: &Key, receiver: &Receiver, now: Timestamp) -> Result<Signers, KeyError> {
        let keys = Arc::clone(&self.keys.lock().unwrap());
        keys.signers((&key.tenant, &key.subscription), &receiver.secrets, now)
    }

    async fn deliver(&self, receiver: &Receiver, _: &Signers, attempt: &Attempt) -> Outcome {
        let (url, event) = (receiver.url.clone(), attempt.event_id.clone());
        let at = self.env.now();
        self.sent.lock().unwrap().push(Sent { url: url.clone(), event, at, number: attempt.number });
        let flying = {
            let mut all = self.flying.lock().unwrap();
            let of_it = all.entry(url.clone()).or_default();
            *of_it += 1;
            *of_it
        };
        let most = self.most.lock().unwrap().get(&url).copied().unwrap_or(0).max(flying);
        self.most.lock().unwrap().insert(url.clone(), most);
        self.most_of_all.fetch_max(self.all.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let does = self.does.lock().unwrap().get(&url).copied().unwrap_or(Does::Answer(204, Duration::ZERO));
        let outcome = match does {
            Does::Answer(status, after) => {
                tokio::time::sleep(after).await;
                let duration_ms = i64::try_from(after.as_millis()).unwrap();
                let retry_after = self.retry_after.lock().unwrap().clone();
                Outcome {
                    status: Some(status),
                    retry_after,
                    ..Outcome::failed(AttemptError::Connect, duration_ms)
                }
            }
            Does::Never => {
                tokio::time::sleep(Duration::from_secs(15)).await;
                Outcome::failed(AttemptError::Timeout, 15_000)
            }
        };
        *self.flying.lock().unwrap().get_mut(&url).unwrap() -= 1;
        self.all.fetch_sub(1, Ordering::SeqCst);
        Outcome { error: outcome.error.filter(|_| outcome.status.is_none()), ..outcome }
    }
}

impl Network {
    pub(crate) fn new(env: Arc<dyn Env>, keys: Arc<SecretKeys>) -> Self {
        Self {
            env,
            does: Mutex::default(),
            sent: Mutex::default(),
            flying: Mutex::default(),
            most: Mutex::default(),
            all: AtomicUsize::new(0),
            most_of_all: AtomicUsize::new(0),
            keys: Mutex::new(keys),
            retry_after: Mutex::default(),
        }
    }

    pub(crate) fn does(&self, url: &str, does: Does) {
        self.does.lock().unwrap().insert(url.to_owned(), does);
    }

    /// Returns the deliveries sent to a URL.
    pub(crate) fn to(&self, url: &str) -> Vec<Sent> {
        self.sent.lock().unwrap().iter().filter(|sent| sent.url == url).cloned().collect()
    }
}

/// A queue that can be made to fail.
#[derive(Default)]
pub(crate) struct Flaky {
    pub(crate) queue: MemoryQueue,
    pub(crate) is_down: AtomicBool,
    reads: AtomicUsize,
    /// Maximum number of concurrent reads.
    pub(crate) most_reads: AtomicUsize,
}

impl Flaky {
    fn up(&self) -> StoreResult<()> {
        if self.is_down.load(Ordering::SeqCst) {
            Err(StoreError::Unavailable("it is down".into()))
        } else {
            Ok(())
        }
    }
}

#[async_trait]
impl Queue for Flaky {
    async fn due(&self, lease: &Lease) -> StoreResult<Vec<Key>> {
        self.up()?;
        self.queue.due(lease).await
    }
    async fn take(&self, key: &Key, lease: &Lease, is_held: bool, most: usize) -> StoreResult<LeaseOutcome> {
        self.up()?;
        let taken = self.queue.take(key, lease, is_held, most).await;
        self.most_reads.fetch_max(self.reads.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // Reading takes a moment, during which other deliveries are sent and recorded.
        tokio::time::sleep(Duration::from_millis(3)).await;
        self.reads.fetch_sub(1, Ordering::SeqCst);
        taken
    }
    async fn record(&self, batch: &Batch) -> StoreResult<Recorded> {
        self.up()?;
        self.queue.record(batch).await
    }
    async fn release(&self, keys: &[Key], owner: &str, now: Timestamp) -> StoreResult<()> {
        self.queue.release(keys, owner, now).await
    }
}

#[derive(Default)]
pub(crate) struct Watcher {
    pub(crate) unsigned: AtomicUsize,
    pub(crate) elsewhere: AtomicUsize,
    pub(crate) failed: AtomicUsize,
    pub(crate) disabled: Mutex<Vec<(Key, DisabledReason)>>,
}

impl DispatchObserver for Watcher {
    fn unsigned(&self, _: &Key, _: &KeyError) {
        self.unsigned.fetch_add(1, Ordering::SeqCst);
    }
    fn elsewhere(&self, _: &Key, _: bool) {
        self.elsewhere.fetch_add(1, Ordering::SeqCst);
    }
    fn disabled(&self, key: &Key, reason: DisabledReason) {
        self.disabled.lock().unwrap().push((key.clone(), reason));
    }
    fn failed(&self, _: &'static str, _: &StoreError) {
        self.failed.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) fn keys(byte: u8) -> Arc<SecretKeys> {
    Arc::new(SecretKeys::new(&MasterKeys::new(vec![("test".into(), Secret::new(vec![byte; 32]))]).unwrap()))
}

/// The state of a dispatcher test.
pub(crate) struct World {
    pub(crate) env: Arc<OneClock>,
    pub(crate) queue: Arc<Flaky>,
    pub(crate) network: Arc<Network>,
    pub(crate) news: Wakeups,
    pub(crate) watcher: Arc<Watcher>,
    events: AtomicUsize,
}

impl World {
    pub(crate) fn new() -> Self {
        let random = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let env = Arc::new(OneClock { start: Instant::now(), random });
        let queue = Flaky::default();
        Self {
            queue: Arc::new(queue),
            network: Arc::new(Network::new(env.clone(), keys(1))),
            env,
            news: Wakeups::default(),
            watcher: Arc::default(),
            events: AtomicUsize::new(0),
        }
    }

    pub(crate) fn tenant(&self) -> TenantId {
        TenantId::new(&*self.env)
    }

    pub(crate) fn ctx(&self, tenant: &TenantId) -> Ctx {
        Ctx::new(self.env.clone(), tenant.clone(), Actor::system("test"))
    }

    /// Creates a subscription to all events.
    pub(crate) async fn subscribe(&self, tenant: &TenantId, url: &str) -> Key {
        self.subscribe_ordered(tenant, url, false).await
    }

    pub(crate) async fn subscribe_ordered(&self, tenant: &TenantId, url: &str, ordered: bool) -> Key {
        let mut store = self.queue.queue.of(tenant);
        let new = New { name: "test".into(), url: url.into(), event_filters: Vec::new(), ordered };
        let (guard, keys) = (AddressGuard::new(Vec::new(), false), keys(1));
        let (made, _) = webhooks::create(&self.ctx(tenant), &mut store, (&guard, &keys), new).await.unwrap();
        Key { tenant: tenant.clone(), subscription: made.id }
    }

    /// Publishes `count` events and returns their ids.
    pub(crate) fn publish(&self, tenant: &TenantId, count: usize) -> Vec<String> {
        self.publish_about(tenant, "user:usr_1", count)
    }

    /// Publishes `count` events about a subject and returns their ids.
    pub(crate) fn publish_about(&self, tenant: &TenantId, subject: &str, count: usize) -> Vec<String> {
        let ids: Vec<String> =
            (0..count).map(|_| format!("evt_{:06}", self.events.fetch_add(1, Ordering::SeqCst))).collect();
        for id in &ids {
            let body = bytes::Bytes::from_static(b"{}");
            let event = PublishedEvent { id, kind: "ACCOUNT_USER_CREATED", subject, body: &body };
            for key in self.queue.queue.publish(&*self.env, tenant, &event) {
                self.news.notify(key, false);
            }
        }
        ids
    }

    pub(crate) fn dispatcher(&self, limits: Limits) -> Dispatcher {
        Dispatcher {
            queue: self.queue.clone(),
            deliver: self.network.clone(),
            seen: self.watcher.clone(),
            env: self.env.clone(),
            limits,
            news: self.news.clone(),
            heard: Wakeups::default(),
        }
    }

    /// Starts a dispatcher.
    pub(crate) fn start(&self, limits: Limits) -> tokio::task::JoinHandle<()> {
        let dispatcher = self.dispatcher(limits);
        tokio::spawn(async move { dispatcher.run(std::future::pending()).await })
    }

    pub(crate) async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Advances the wall clock, but not the runtime's, and gives the dispatcher time to notice.
    pub(crate) async fn skip(&self, time: Duration) {
        self.env.advance(i64::try_from(time.as_millis()).unwrap());
        self.pass(Duration::from_secs(2)).await;
    }

    /// Returns the number of attempts without an outcome.
    pub(crate) fn pending(&self, key: &Key) -> usize {
        self.queue.queue.deliveries(key).iter().filter(|delivery| delivery.due_at.is_some()).count()
    }
}

pub(crate) fn rate(per_second: u32) -> Limits {
    Limits { rate: NonZeroU32::new(per_second), ..Limits::default() }
}
