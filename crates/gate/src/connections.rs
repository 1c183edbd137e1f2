//! Connections of clients: how many there are, for each address and in all, and which of them nobody uses.
//!
//! A connection costs memory whether or not a request is on it, and the HTTP library bounds neither how many an
//! address opens nor how long the second request's head may take. Where there are too many, the one that nobody has
//! used for the longest time is closed; a connection with a request on it stays.

use std::{
    any::Any,
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    os::fd::{AsFd, OwnedFd},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::{
    dev::{Extensions, ServiceRequest},
    rt::net::TcpStream,
};
use credentials::attempts;
use rustix::{
    net::{Shutdown, shutdown},
    process::{Resource, Rlimit, getrlimit, setrlimit},
};

use metrics::{Counter, Gauge, counter, gauge};

use super::{
    event_tally::EventTally,
    meter::{CLOSED, OPEN, count},
};

/// How long a connection stays open that carries no request: longer than the keep-alive of the HTTP library, which
/// closes those that are silent, and so the bound for those that are not.
const IDLE: Duration = Duration::from_secs(90);
/// Files that are not connections of clients: databases, mail, webhooks, logs.
const OTHER_FILES: u64 = 512;
/// Open connections at most, however many files the process may have.
const MOST: usize = 16_384;

/// Why the server closed a connection, as `/metrics` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// Its address has too many.
    Address,
    /// There are too many in all, and its address has the most.
    Total,
    /// It carried no request for too long.
    Idle,
}

impl CloseReason {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Address, Self::Total, Self::Idle];

    /// Label of the metric.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Total => "total",
            Self::Idle => "idle",
        }
    }
}

/// All open connections.
pub(crate) struct Connections {
    most: usize,
    most_of_address: usize,
    started: Instant,
    open: Mutex<OpenConnections>,
    meter: ConnectionMeter,
    closings: EventTally,
}

#[derive(Default)]
struct OpenConnections {
    next_id: u64,
    total: usize,
    addresses: HashMap<Arc<str>, BTreeMap<u64, Arc<Connection>>>,
}

/// An open connection.
struct Connection {
    id: u64,
    address: Arc<str>,
    /// A second name of its socket, to close it by.
    socket: OwnedFd,
    /// Requests on it.
    requests: AtomicUsize,
    /// When the last of them ended, in milliseconds from the start of the server.
    idle_since: AtomicU64,
    started: Instant,
}

/// A connection as the HTTP library holds it: forgotten when dropped.
struct OpenConnection {
    connections: Arc<Connections>,
    connection: Arc<Connection>,
}

/// Marks a connection as in use until it is dropped.
pub(crate) struct InUse(Arc<Connection>);

impl Connections {
    /// With so many connections of one address at most.
    pub(crate) fn new(most_of_address: usize) -> Arc<Self> {
        Arc::new(Self {
            most: most_open(),
            most_of_address,
            started: Instant::now(),
            open: Mutex::default(),
            meter: ConnectionMeter::new(),
            closings: EventTally::default(),
        })
    }

    /// Brings the gauge up to date.
    pub(crate) fn measure(&self) {
        let open = self.with(|open| open.total);
        self.meter.measure(open);
    }

    fn with<T>(&self, work: impl FnOnce(&mut OpenConnections) -> T) -> T {
        work(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts a new connection, as the HTTP library hands it over, and makes room for it. Those of a trusted proxy
    /// are many clients', so they are not counted for its address.
    pub(crate) fn opened(
        self: &Arc<Self>,
        io: &dyn Any,
        data: &mut Extensions,
        is_proxy: impl Fn(IpAddr) -> bool,
    ) {
        let plain = io.downcast_ref::<TcpStream>();
        let stream = plain.or_else(|| io.downcast_ref::<TlsStream<TcpStream>>().map(|tls| tls.get_ref().0));
        let Some(stream) = stream else { return };
        // A connection that cannot be named twice could not be closed: the process has no files left.
        let (Ok(peer), Ok(socket)) = (stream.peer_addr(), stream.as_fd().try_clone_to_owned()) else {
            let _gone = shutdown(stream, Shutdown::Both);
            return;
        };
        let is_proxy = is_proxy(peer.ip());
        let address: Arc<str> = attempts::origin(Some(peer.ip().to_canonical())).into();
        let now = self.millis();
        let (connection, closed) = self.with(|open| {
            open.next_id += 1;
            let connection = Arc::new(Connection {
                id: open.next_id,
                address: Arc::clone(&address),
                socket,
                requests: AtomicUsize::new(0),
                idle_since: AtomicU64::new(now),
                started: self.started,
            });
            let closed = if !is_proxy && open.of(&address) >= self.most_of_address {
                Some((open.close_idle_of(&address, &connection), CloseReason::Address))
            } else if open.total >= self.most {
                let largest = open.largest().unwrap_or(address);
                Some((open.close_idle_of(&largest, &connection), CloseReason::Total))
            } else {
                None
            };
            open.insert(&connection);
            (connection, closed)
        });
        if let Some((one, reason)) = closed {
            self.close(&one, reason);
        }
        data.insert(OpenConnection { connections: Arc::clone(self), connection });
    }

    /// Closes connections that have carried no request for too long, though bytes may have come.
    pub(crate) fn close_idle(&self) {
        let now = self.millis();
        let is_over = |one: &&Arc<Connection>| one.is_idle() && one.idle_for(now) > IDLE;
        let over: Vec<_> = self.with(|open| {
            open.addresses.values().flat_map(BTreeMap::values).filter(is_over).cloned().collect()
        });
        for one in over {
            self.close(&one, CloseReason::Idle);
        }
    }

    /// Both halves: the HTTP library sees the end and drops the connection.
    fn close(&self, connection: &Connection, reason: CloseReason) {
        if shutdown(&connection.socket, Shutdown::Both).is_err() {
            return;
        }
        self.meter.closed(reason);
        if reason != CloseReason::Idle
            && let Some(closed) = self.closings.add()
        {
            let (reason, address) = (reason.as_str(), &*connection.address);
            tracing::warn!(closed, reason, address, "too many connections: some are closed");
        }
    }

    fn millis(&self) -> u64 {
        millis_since(self.started)
    }
}

impl OpenConnections {
    fn of(&self, address: &str) -> usize {
        self.addresses.get(address).map_or(0, BTreeMap::len)
    }

    /// The address that has the most.
    fn largest(&self) -> Option<Arc<str>> {
        let most = self.addresses.iter().max_by_key(|(_, connections)| connections.len());
        most.map(|(address, _)| Arc::clone(address))
    }

    fn insert(&mut self, connection: &Arc<Connection>) {
        self.total += 1;
        let of_address = self.addresses.entry(Arc::clone(&connection.address)).or_default();
        of_address.insert(connection.id, Arc::clone(connection));
    }

    fn remove(&mut self, connection: &Connection) {
        let Some(of_address) = self.addresses.get_mut(&connection.address) else { return };
        if of_address.remove(&connection.id).is_some() {
            self.total = self.total.saturating_sub(1);
        }
        if of_address.is_empty() {
            self.addresses.remove(&connection.address);
        }
    }

    /// Forgets the connection of this address that was idle for the longest time, or, where all carry requests, the
    /// new one.
    fn close_idle_of(&mut self, address: &str, new: &Arc<Connection>) -> Arc<Connection> {
        let idle = self.addresses.get(address).and_then(|connections| {
            let idle = connections.values().filter(|one| one.is_idle());
            idle.min_by_key(|one| one.idle_since.load(Ordering::Relaxed)).cloned()
        });
        let Some(idle) = idle else { return Arc::clone(new) };
        self.remove(&idle);
        idle
    }
}

impl Connection {
    fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Acquire) == 0
    }

    fn idle_for(&self, now: u64) -> Duration {
        Duration::from_millis(now.saturating_sub(self.idle_since.load(Ordering::Relaxed)))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.connections.with(|open| open.remove(&self.connection));
    }
}

impl InUse {
    /// Of the connection of a request.
    pub(crate) fn of(request: &ServiceRequest) -> Option<Self> {
        let open = request.request().conn_data::<OpenConnection>()?;
        open.connection.requests.fetch_add(1, Ordering::AcqRel);
        Some(Self(Arc::clone(&open.connection)))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.idle_since.store(millis_since(self.0.started), Ordering::Relaxed);
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

fn millis_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Lets the process have as many files as it is allowed to, and returns how many connections that is: each is two.
fn most_open() -> usize {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let connections = files.saturating_sub(OTHER_FILES) / 2;
    usize::try_from(connections).unwrap_or(usize::MAX).clamp(64, MOST)
}

/// What counts connections.
struct ConnectionMeter {
    open: Gauge,
    closed: [(CloseReason, Counter); CloseReason::ALL.len()],
}

impl ConnectionMeter {
    fn new() -> Self {
        let closed = CloseReason::ALL.map(|reason| (reason, counter!(CLOSED, "reason" => reason.as_str())));
        Self { open: gauge!(OPEN), closed }
    }

    /// Sets the gauge.
    fn measure(&self, open: usize) {
        self.open.set(count(open));
    }

    /// Counts a connection that the server closed.
    fn closed(&self, reason: CloseReason) {
        if let Some((_, counter)) = self.closed.iter().find(|(known, _)| *known == reason) {
            counter.increment(1);
        }
    }
}
