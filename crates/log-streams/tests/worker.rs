//! The worker over a queue in memory, with a receiver on this machine.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use audit::{ListedEntry, StoredEntry, ocsf::Source};
use kernel::{Env, Secret, StoreError, StoreResult, SystemEnv, TenantId, Timestamp};
use log_streams::{
    Batch, Destination, DestinationType, FailureNote, Key, Lease, LogPage, LogStream, LogStreamId, Problem,
    SealSecret, SecretError, Sending, StreamObserver, StreamQueue, StreamState, Taken, Worker, WorkerLimits,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use webhooks::{
    EventFilter,
    client::{AddressGuard, Client, ClientSettings},
};

/// A stream in memory.
#[derive(Clone)]
struct Row {
    stream: LogStream,
    state: StreamState,
    range_from: u64,
    last_from: u64,
    owner: String,
    due_at: Timestamp,
}

/// A log of this many entries, and its streams.
struct Memory {
    size: u64,
    rows: Mutex<BTreeMap<Key, Row>>,
}

impl Memory {
    fn with<T>(&self, key: &Key, work: impl FnOnce(&mut Row) -> T) -> T {
        work(self.rows.lock().unwrap().get_mut(key).unwrap())
    }
}

fn entry(sequence: u64) -> ListedEntry {
    let entry = StoredEntry {
        id: format!("aud_{sequence}"),
        timestamp: "2026-01-31T09:30:00.123Z".parse().unwrap(),
        actor_type: "USER".into(),
        actor_id: "usr_1".into(),
        action: "ACCOUNT_GROUP_CREATED".into(),
        resource_type: "group".into(),
        resource_id: "grp_1".into(),
        ip: None,
        metadata: "{}".into(),
        leaf: [0; 32],
        salt: None,
        ip_commitment: None,
        mac: None,
    };
    ListedEntry { entry, actor_name: None }
}

#[async_trait]
impl StreamQueue for Memory {
    async fn due(&self, lease: &Lease, limit: usize) -> StoreResult<Vec<Key>> {
        let rows = self.rows.lock().unwrap();
        let is_due =
            |row: &Row| row.stream.enabled && row.due_at <= lease.now && row.state.position != self.size;
        Ok(rows.iter().filter(|(_, row)| is_due(row)).map(|(key, _)| key.clone()).take(limit).collect())
    }

    async fn take(&self, key: &Key, lease: &Lease) -> StoreResult<Option<Taken>> {
        Ok(self.with(key, |row| {
            let is_free = row.owner.is_empty() || row.owner == lease.owner;
            (is_free && row.stream.enabled).then(|| {
                row.owner.clone_from(&lease.owner);
                Taken { stream: row.stream.clone(), state: row.state.clone(), range_from: row.range_from }
            })
        }))
    }

    async fn read(&self, _: &TenantId, from: u64, limit: usize) -> StoreResult<LogPage> {
        let next = self.size.min(from + limit as u64);
        let entries = (from..next).map(|sequence| (sequence, entry(sequence))).collect();
        Ok(LogPage { entries, next, size: self.size, checkpoint: None, removed_before: None })
    }

    async fn advance(
        &self,
        key: &Key,
        lease: &Lease,
        (from, to): (u64, u64),
        sent: Option<u64>,
    ) -> StoreResult<bool> {
        Ok(self.with(key, |row| {
            let is_held = row.owner == lease.owner && row.state.position == from;
            if is_held {
                row.state =
                    StreamState { position: to, delivered_at: Some(lease.now), ..StreamState::default() };
                (row.range_from, row.last_from) = (to, sent.unwrap_or(row.last_from));
            }
            is_held
        }))
    }

    async fn fail(
        &self,
        key: &Key,
        lease: &Lease,
        problem: &Problem,
        next_attempt_at: Timestamp,
        repeats_last: bool,
    ) -> StoreResult<Option<FailureNote>> {
        Ok(self.with(key, |row| {
            row.owner.clear();
            row.due_at = next_attempt_at;
            row.state.problem = Some(problem.clone());
            row.state.failing_since.get_or_insert(lease.now);
            if repeats_last {
                (row.state.position, row.range_from) = (row.last_from, row.last_from);
            }
            Some(FailureNote { since: lease.now, is_notice_due: false })
        }))
    }

    async fn release(&self, key: &Key, lease: &Lease, due_at: Timestamp, _: bool) -> StoreResult<()> {
        self.with(key, |row| {
            if row.owner != lease.owner {
                return;
            }
            row.owner.clear();
            row.due_at = due_at;
        });
        Ok(())
    }
}

/// A receiver that answers each request with what `respond` returns for its events.
struct Receiver {
    address: SocketAddr,
    batches: Arc<Mutex<Vec<Vec<Value>>>>,
}

impl Receiver {
    fn start(respond: impl Fn(&[Value]) -> u16 + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, batches) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let (respond, shared) = (Arc::new(respond), Arc::clone(&batches));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (respond, shared) = (Arc::clone(&respond), Arc::clone(&shared));
                std::thread::spawn(move || while serve(&stream, &*respond, &shared).is_some() {});
            }
        });
        Self { address, batches }
    }

    /// Returns the ranges of the accepted batches.
    fn ranges(&self) -> Vec<(u64, u64)> {
        let range = |batch: &Vec<Value>| {
            let range = &batch.last().unwrap()["unmapped"];
            (range["from"].as_u64().unwrap(), range["next"].as_u64().unwrap())
        };
        self.batches.lock().unwrap().iter().map(range).collect()
    }
}

fn serve(
    stream: &TcpStream,
    respond: &dyn Fn(&[Value]) -> u16,
    batches: &Mutex<Vec<Vec<Value>>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim_end().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let events: Vec<Value> =
        String::from_utf8(body).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let status = respond(&events);
    if status < 300 {
        batches.lock().unwrap().push(events);
    }
    let mut out = stream;
    out.write_all(format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n").as_bytes()).ok()
}

struct NoSecrets;

impl SealSecret for NoSecrets {
    fn seal(&self, _: &LogStreamId, _: &Secret<String>) -> Result<String, SecretError> {
        Err(SecretError("encrypted"))
    }

    fn open(&self, _: &LogStreamId, _: &str) -> Result<Secret<String>, SecretError> {
        Err(SecretError("decrypted"))
    }
}

/// Counts the streams that are sent at once.
#[derive(Default)]
struct Seen(Mutex<usize>);

impl StreamObserver for Seen {
    fn sent(&self, _: &Key, _: DestinationType, _: &Batch) {}

    fn failed(&self, _: &Key, _: DestinationType, _: &Problem, _: FailureNote) {}

    fn queue_failed(&self, _: Option<&Key>, error: &StoreError) {
        panic!("{error}");
    }

    fn at_work(&self, streams: usize) {
        let mut most = self.0.lock().unwrap();
        *most = streams.max(*most);
    }
}

/// A log with one stream, whose worker runs until the end of the test.
struct World {
    memory: Arc<Memory>,
    key: Key,
    seen: Arc<Seen>,
    end: Arc<Notify>,
}

fn row(receiver: &Receiver, env: &dyn Env) -> Row {
    let destination = json!({ "type": "HTTPS", "url": format!("http://{}/", receiver.address) });
    let destination: Destination = serde_json::from_value(destination).unwrap();
    let now = env.now();
    let stream = LogStream {
        id: LogStreamId::new(env),
        name: "SIEM".into(),
        destination,
        sealed: None,
        event_filters: vec![EventFilter::all()],
        enabled: true,
        created_at: now,
        updated_at: now,
    };
    Row {
        stream,
        state: StreamState::default(),
        range_from: 0,
        last_from: 0,
        owner: String::new(),
        due_at: now,
    }
}

impl World {
    fn start(receiver: &Receiver, size: u64, streams: usize) -> Self {
        let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
        let tenant = TenantId::new(&*env);
        let rows: BTreeMap<Key, Row> = (0..streams)
            .map(|_| row(receiver, &*env))
            .map(|row| (Key { tenant: tenant.clone(), stream: row.stream.id.clone() }, row))
            .collect();
        let key = rows.keys().next().unwrap().clone();
        let memory = Arc::new(Memory { size, rows: Mutex::new(rows) });
        let guard = AddressGuard::new(vec!["127.0.0.0/8".parse().unwrap()], true);
        let (seen, end) = (Arc::new(Seen::default()), Arc::new(Notify::new()));
        let worker = Worker {
            queue: Arc::clone(&memory) as Arc<dyn StreamQueue>,
            sending: Sending {
                client: Client::new(guard, ClientSettings::default()).unwrap(),
                host: "gatehouse.example.com".into(),
                user_agent: "test",
            },
            keys: Box::new(NoSecrets),
            source: Box::new(|tenant| Source {
                product: "Gatehouse",
                version: "1",
                tenant: tenant.to_string(),
            }),
            seen: Arc::clone(&seen) as Arc<dyn StreamObserver>,
            env,
            limits: WorkerLimits { streams: 32, tenant: 2 },
        };
        let ended = Arc::clone(&end);
        tokio::spawn(async move { worker.run(ended.notified()).await });
        Self { memory, key, seen, end }
    }

    async fn until(&self, is_so: impl Fn(&Row) -> bool) {
        let wait = async {
            while !self.memory.with(&self.key, |row| is_so(row)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end.notify_one();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_smaller_if_the_receiver_wants_it() {
    let receiver = Receiver::start(|events| if events.len() > 301 { 413 } else { 204 });
    let world = World::start(&receiver, 1_700, 1);
    world.until(|row| row.state.position == 1_700 && row.owner.is_empty()).await;
    let ranges = receiver.ranges();
    assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0), "{ranges:?}");
    assert_eq!((ranges[0].0, ranges.last().unwrap().1), (0, 1_700));
    assert!(ranges.iter().all(|(from, next)| next - from <= 300), "{ranges:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn disabled_stream_stops_and_repeats_at_most_the_batch_that_was_being_sent() {
    let seen = Arc::new(Mutex::new(None::<Arc<dyn Fn() + Send + Sync>>));
    let hook = Arc::clone(&seen);
    let receiver = Receiver::start(move |_| {
        if let Some(disable) = &*hook.lock().unwrap() {
            disable();
        }
        204
    });
    let world = World::start(&receiver, 5_000, 1);
    let (memory, key) = (Arc::clone(&world.memory), world.key.clone());
    let disable = move || {
        memory.with(&key, |row| {
            if row.state.position > 0 {
                row.stream.enabled = false;
                row.owner.clear();
            }
        });
    };
    *seen.lock().unwrap() = Some(Arc::new(disable));
    world.until(|row| !row.stream.enabled && row.owner.is_empty()).await;
    let stopped = world.memory.with(&world.key, |row| row.state.position);
    assert!(stopped < 5_000, "{stopped}");
    *seen.lock().unwrap() = None;
    world.memory.with(&world.key, |row| row.stream.enabled = true);
    world.until(|row| row.state.position == 5_000).await;
    let ranges = receiver.ranges();
    let follows = |pair: &[(u64, u64)]| pair[0].1 == pair[1].0 || pair[0] == pair[1];
    assert!(ranges.windows(2).all(follows), "{ranges:?}");
    assert!(ranges.len() <= 6, "{ranges:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_batch_is_repeated_and_a_rolled_back_log_is_reported() {
    let refusals = Mutex::new(2);
    let receiver = Receiver::start(move |_| {
        let mut left = refusals.lock().unwrap();
        *left = i32::max(*left - 1, -1);
        if *left >= 0 { 503 } else { 204 }
    });
    let world = World::start(&receiver, 10, 1);
    world.until(|row| row.state.problem.as_ref().is_some_and(|problem| problem.status == Some(503))).await;
    world.until(|row| row.state.position == 10).await;
    assert_eq!(receiver.ranges(), [(0, 10)]);
    world.memory.with(&world.key, |row| row.state.position = 11);
    let is_reported = |row: &Row| row.state.problem.as_ref().is_some_and(|one| one.code == "LOG_ROLLED_BACK");
    world.until(is_reported).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_one_tenant_leave_room_for_others() {
    let receiver = Receiver::start(|_| {
        std::thread::sleep(Duration::from_millis(300));
        204
    });
    let world = World::start(&receiver, 10, 5);
    let all = || world.memory.rows.lock().unwrap().values().all(|row| row.state.position == 10);
    let wait = async {
        while !all() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap();
    assert_eq!(*world.seen.0.lock().unwrap(), 2);
}
