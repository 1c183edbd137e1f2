//! Webhook receivers that record deliveries, repeated deliveries, and whether a repetition was allowed.

use std::{
    collections::{HashMap, HashSet},
    io::{BufRead, BufReader, Error, ErrorKind, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use xtask::{server::member, sh::Result};

/// Default number of concurrent attempts to one subscription.
const IN_FLIGHT: usize = 4;
/// Outcomes that the server records in one batch: at most this many are pending while recording works.
const GROUP: usize = 100;
/// Time limit for the connections of a killed process to close.
const GONE: Duration = Duration::from_secs(10);

/// The process that is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    /// The worker, while it records outcomes normally.
    Worker,
    /// The worker, just after PostgreSQL has come back, with many outcomes not recorded yet.
    BusyWorker,
    Database,
}

/// A receiver. Its threads end with the process.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    state: Arc<SharedState>,
}

#[derive(Default)]
struct SharedState {
    log: Mutex<DeliveryLog>,
    connections: AtomicUsize,
    handled: AtomicUsize,
}

#[derive(Default)]
struct DeliveryLog {
    events: HashMap<String, Event>,
    requests: usize,
    kills: Vec<Kill>,
    faults: Vec<String>,
}

struct Event {
    user: String,
    body: Vec<u8>,
    /// Number of kills before its last delivery. Only a later kill allows a repetition.
    kills: usize,
}

/// The effect of a kill on one receiver.
struct Kill {
    victim: Victim,
    /// Events that were delivered but have no outcome in the database.
    open: HashSet<String>,
    again: usize,
}

/// Counts of one kill.
#[derive(Clone, Copy)]
struct KillCounts {
    victim: Victim,
    /// Deliveries that may be repeated.
    open: usize,
    /// Deliveries that were repeated.
    again: usize,
}

impl Receiver {
    /// Listens on loopback, and responds to each request after this delay.
    pub(crate) fn start(delay: Duration) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let state = Arc::new(SharedState::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                state.connections.fetch_add(1, Ordering::AcqRel);
                thread::spawn(move || {
                    let _ended = state.serve(stream, delay);
                    state.connections.fetch_sub(1, Ordering::AcqRel);
                });
            }
        });
        Ok(Self { address, state })
    }

    /// Returns the number of requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.state.log().requests
    }

    /// Waits until everything that a killed process sent has been read and recorded.
    pub(crate) fn await_disconnects(&self) -> Result<()> {
        // Connections are accepted in order: once this one is accepted, all earlier ones have been.
        let taken = TcpStream::connect(self.address).and_then(|mut last| {
            last.shutdown(Shutdown::Write)?;
            last.read(&mut [0])
        });
        taken.map_err(|error| error.to_string())?;
        let start = Instant::now();
        while self.state.connections.load(Ordering::Acquire) > 0 {
            if start.elapsed() > GONE {
                return Err("the connections of a killed process stay open".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Records a kill. The events without an outcome in the database may be delivered again.
    pub(crate) fn killed(&self, victim: Victim, unrecorded: &HashSet<String>) {
        let mut log = self.state.log();
        let open = unrecorded.iter().filter(|event| log.events.contains_key(*event)).cloned().collect();
        log.kills.push(Kill { victim, open, again: 0 });
    }

    /// Returns the counts of all kills so far.
    fn counts(&self) -> Vec<KillCounts> {
        let log = self.state.log();
        let counts =
            |kill: &Kill| KillCounts { victim: kill.victim, open: kill.open.len(), again: kill.again };
        log.kills.iter().map(counts).collect()
    }

    /// Checks that exactly one event arrived for each of these users, apart from allowed repetitions. Returns the
    /// number of requests.
    pub(crate) fn check(&self, people: &HashSet<&str>) -> Result<usize> {
        let log = self.state.log();
        if let Some(first) = log.faults.first() {
            return Err(format!("{} deliveries are wrong, the first: {first}", log.faults.len()));
        }
        let delivered: HashSet<&str> = log.events.values().map(|event| event.user.as_str()).collect();
        if let Some(first) = people.difference(&delivered).next() {
            let lost = people.difference(&delivered).count();
            return Err(format!("events of {lost} of {} users are missing, the first {first}", people.len()));
        }
        if let Some(first) = delivered.difference(people).next() {
            return Err(format!("an event of {first}, who does not exist"));
        }
        if log.events.len() != delivered.len() {
            return Err(format!("{} events of {} users", log.events.len(), delivered.len()));
        }
        Ok(log.requests)
    }
}

impl SharedState {
    fn log(&self) -> MutexGuard<'_, DeliveryLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: TcpStream, delay: Duration) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut stream = BufReader::new(stream);
        loop {
            let (event, body) = request(&mut stream)?;
            let at_once = self.handled.fetch_add(1, Ordering::AcqRel) + 1;
            self.log().note(&event, body, at_once);
            thread::sleep(delay);
            self.handled.fetch_sub(1, Ordering::AcqRel);
            stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
        }
    }
}

impl DeliveryLog {
    fn note(&mut self, event: &str, body: Vec<u8>, at_once: usize) {
        self.requests += 1;
        if at_once > IN_FLIGHT {
            self.faults.push(format!("{at_once} concurrent attempts"));
        }
        let kills = self.kills.len();
        let Some(before) = self.events.get_mut(event) else {
            let text = String::from_utf8_lossy(&body);
            if member(&text, "id").as_deref() != Ok(event) {
                self.faults.push(format!("the header names {event}, but the body another event: {text}"));
            }
            let rest = text.split_once("\"resource\":{\"type\":\"user\",\"id\":\"").map(|(_, rest)| rest);
            let user = rest.and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned();
            self.events.insert(event.to_owned(), Event { user, body, kills });
            return;
        };
        if before.body != body {
            self.faults.push(format!("{event} was repeated with another body"));
        }
        let since = self.kills.get_mut(before.kills..).unwrap_or_default();
        before.kills = kills;
        // A live worker knows what it has sent, so a kill of the database is the last possible cause.
        let open = |kill: &&mut Kill| kill.open.contains(event);
        let (workers, databases): (Vec<_>, Vec<_>) =
            since.iter_mut().filter(open).partition(|kill| kill.victim != Victim::Database);
        match workers.into_iter().chain(databases).next() {
            Some(kill) => kill.again += 1,
            None => self.faults.push(format!("{event} was repeated without a kill")),
        }
    }
}

/// Prints by victim how many deliveries could be repeated and how many were. A live worker repeats none.
pub(crate) fn report(receivers: &[Receiver]) -> Result<()> {
    println!(
        "| kill -9 of | kills | in transit | maximum per kill | duplicates | maximum per kill |\n|---|---|---|---|---|---|"
    );
    let mut kills: Vec<KillCounts> = Vec::new();
    for receiver in receivers {
        for (number, one) in receiver.counts().into_iter().enumerate() {
            match kills.get_mut(number) {
                Some(sum) => (sum.open, sum.again) = (sum.open + one.open, sum.again + one.again),
                None => kills.push(one),
            }
        }
    }
    let victims = [
        (Victim::Worker, "the worker"),
        (Victim::BusyWorker, "the worker, just after PostgreSQL came back"),
        (Victim::Database, "PostgreSQL"),
    ];
    for (victim, name) in victims {
        let of_it: Vec<_> = kills.iter().filter(|kill| kill.victim == victim).collect();
        let shown = |count_of: fn(&KillCounts) -> usize| {
            let counts = of_it.iter().map(|kill| count_of(kill));
            format!("{} | {}", counts.clone().sum::<usize>(), counts.max().unwrap_or(0))
        };
        let (open, again) = (shown(|kill| kill.open), shown(|kill| kill.again));
        println!("| {name} | {} | {open} | {again} |", of_it.len());
        let most = of_it.len() * (receivers.len() * IN_FLIGHT + GROUP);
        if victim == Victim::Worker && of_it.iter().map(|kill| kill.open).sum::<usize>() > most {
            return Err("the worker records outcomes too late".into());
        }
        if victim == Victim::Database && again != "0 | 0" {
            return Err("a live worker has repeated a delivery".into());
        }
    }
    Ok(())
}

/// Reads a request: the event ID of its header, and the body.
pub(crate) fn request(stream: &mut BufReader<TcpStream>) -> std::io::Result<(String, Vec<u8>)> {
    let (mut event, mut length, mut line) = (String::new(), 0, String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(Error::from(ErrorKind::UnexpectedEof));
        }
        if line.trim_end().is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "x-service-event-id" => value.trim().clone_into(&mut event),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((event, body))
}
