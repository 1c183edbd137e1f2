//! Limits and closes client connections, by address and in total.
//!
//! A connection uses memory even without a request, and the HTTP library limits neither the connections of an address
//! nor the time until the second request's head. When there are too many, the connection that has been idle the
//! longest is closed; a connection with a request stays open.

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

/// How long a connection without a request stays open. Longer than the HTTP library's keep-alive, which closes silent
/// connections, so this limit applies to those that send data slowly.
const IDLE: Duration = Duration::from_secs(90);
/// File descriptors reserved for other uses: databases, mail, webhooks, logs.
const OTHER_FILES: u64 = 512;
/// Maximum number of open connections, however many files the process may open.
const MAX_CONNECTIONS: usize = 16_384;

/// Why the server closed a connection, also a metric label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// Its address has too many connections.
    Address,
    /// There are too many connections in total, and its address has the most.
    Total,
    /// It carried no request for too long.
    Idle,
}

impl CloseReason {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::Address, Self::Total, Self::Idle];

    /// Returns the label of the metric.
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
    /// A duplicate of its socket, used to close it.
    socket: OwnedFd,
    /// Number of requests in progress.
    requests: AtomicUsize,
    /// When the last request ended, in milliseconds since the server's start.
    idle_since: AtomicU64,
    started: Instant,
}

/// A connection as registered with the HTTP library. Dropping it removes the connection.
struct OpenConnection {
    connections: Arc<Connections>,
    connection: Arc<Connection>,
}

/// Marks a connection as in use until it is dropped.
pub(crate) struct InUse(Arc<Connection>);

impl Connections {
    /// Creates a registry that allows this many connections per address.
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

    /// Updates the gauge.
    pub(crate) fn measure(&self) {
        let open = self.with(|open| open.total);
        self.meter.measure(open);
    }

    fn with<T>(&self, work: impl FnOnce(&mut OpenConnections) -> T) -> T {
        work(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Registers a new connection and closes another if there are too many. A trusted proxy's connections carry many
    /// clients, so the limit per address does not apply to it.
    pub(crate) fn opened(
        self: &Arc<Self>,
        io: &dyn Any,
        data: &mut Extensions,
        is_proxy: impl Fn(IpAddr) -> bool,
    ) {
        let plain = io.downcast_ref::<TcpStream>();
        let stream = plain.or_else(|| io.downcast_ref::<TlsStream<TcpStream>>().map(|tls| tls.get_ref().0));
        let Some(stream) = stream else { return };
        // Without a duplicate descriptor it could not be closed later: the process has run out of files.
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

    /// Closes connections that have carried no request for too long, even if they have sent bytes.
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

    /// Shuts down both directions. The HTTP library then sees the end and drops the connection.
    fn close(&self, connection: &Connection, reason: CloseReason) {
        if shutdown(&connection.socket, Shutdown::Both).is_err() {
            return;
        }
        self.meter.closed(reason);
        if reason != CloseReason::Idle
            && let Some(closed) = self.closings.add()
        {
            let (reason, address) = (reason.as_str(), &*connection.address);
            tracing::warn!(closed, reason, address, "too many connections: closing some");
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

    /// Returns the address with the most connections.
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

    /// Removes and returns the address's connection that has been idle the longest. If none is idle, returns the new
    /// one.
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
    /// Marks the connection of a request as in use.
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

/// Raises the process's limit of open files and returns how many connections fit, at two files each.
fn most_open() -> usize {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let connections = files.saturating_sub(OTHER_FILES) / 2;
    usize::try_from(connections).unwrap_or(usize::MAX).clamp(64, MAX_CONNECTIONS)
}

/// Metrics of connections.
struct ConnectionMeter {
    open: Gauge,
    closed: [(CloseReason, Counter); CloseReason::ALL.len()],
}

impl ConnectionMeter {
    fn new() -> Self {
        let closed = CloseReason::ALL.map(|reason| (reason, counter!(CLOSED, "reason" => reason.as_str())));
        Self { open: gauge!(OPEN), closed }
    }

    /// Updates the gauge.
    fn measure(&self, open: usize) {
        self.open.set(count(open));
    }

    /// Counts a connection closed by the server.
    fn closed(&self, reason: CloseReason) {
        if let Some((_, counter)) = self.closed.iter().find(|(known, _)| *known == reason) {
            counter.increment(1);
        }
    }
}
