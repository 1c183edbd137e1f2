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
    desk: Arc<Desk>,
}

#[derive(Default)]
struct Desk {
    book: Mutex<Book>,
    connections: AtomicUsize,
    handled: AtomicUsize,
}

#[derive(Default)]
struct Book {
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
struct Figures {
    victim: Victim,
    /// Deliveries that may be repeated.
    open: usize,
    /// Deliveries that were repeated.
    again: usize,
}

impl Receiver {
    /// Listens on loopback, and responds to each request after this delay.
    pub(crate) fn start(thinks: Duration) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let desk = Arc::new(Desk::default());
        let shared = Arc::clone(&desk);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let desk = Arc::clone(&shared);
                desk.connections.fetch_add(1, Ordering::AcqRel);
                thread::spawn(move || {
                    let _ended = desk.serve(stream, thinks);
                    desk.connections.fetch_sub(1, Ordering::AcqRel);
                });
            }
        });
        Ok(Self { address, desk })
    }

    /// Returns the number of requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.desk.book().requests
    }

    /// Waits until everything that a killed process sent has been read and recorded.
    pub(crate) fn forsaken(&self) -> Result<()> {
        // Connections are accepted in order: once this one is accepted, all earlier ones have been.
        let taken = TcpStream::connect(self.address).and_then(|mut last| {
            last.shutdown(Shutdown::Write)?;
            last.read(&mut [0])
        });
        taken.map_err(|error| error.to_string())?;
        let start = Instant::now();
        while self.desk.connections.load(Ordering::Acquire) > 0 {
            if start.elapsed() > GONE {
                return Err("a dead worker's connections stay".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Records a kill. The events without an outcome in the database may be delivered again.
    pub(crate) fn killed(&self, victim: Victim, unrecorded: &HashSet<String>) {
        let mut book = self.desk.book();
        let open = unrecorded.iter().filter(|event| book.events.contains_key(*event)).cloned().collect();
        book.kills.push(Kill { victim, open, again: 0 });
    }

    /// Returns the counts of all kills so far.
    fn figures(&self) -> Vec<Figures> {
        let book = self.desk.book();
        let figures = |kill: &Kill| Figures { victim: kill.victim, open: kill.open.len(), again: kill.again };
        book.kills.iter().map(figures).collect()
    }

    /// Checks that exactly one event arrived for each of these users, apart from allowed repetitions. Returns the
    /// number of requests.
    pub(crate) fn check(&self, people: &HashSet<&str>) -> Result<usize> {
        let book = self.desk.book();
        if let Some(first) = book.faults.first() {
            return Err(format!("{} deliveries are wrong, the first: {first}", book.faults.len()));
        }
        let told: HashSet<&str> = book.events.values().map(|event| event.user.as_str()).collect();
        if let Some(first) = people.difference(&told).next() {
            let lost = people.difference(&told).count();
            return Err(format!("{lost} of {} were not told of, the first {first}", people.len()));
        }
        if let Some(first) = told.difference(people).next() {
            return Err(format!("told of {first}, who does not exist"));
        }
        if book.events.len() != told.len() {
            return Err(format!("{} events of {} people", book.events.len(), told.len()));
        }
        Ok(book.requests)
    }
}

impl Desk {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: TcpStream, thinks: Duration) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut stream = BufReader::new(stream);
        loop {
            let (event, body) = request(&mut stream)?;
            let at_once = self.handled.fetch_add(1, Ordering::AcqRel) + 1;
            self.book().note(&event, body, at_once);
            thread::sleep(thinks);
            self.handled.fetch_sub(1, Ordering::AcqRel);
            stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
        }
    }
}

impl Book {
    fn note(&mut self, event: &str, body: Vec<u8>, at_once: usize) {
        self.requests += 1;
        if at_once > IN_FLIGHT {
            self.faults.push(format!("{at_once} at the same time"));
        }
        let kills = self.kills.len();
        let Some(before) = self.events.get_mut(event) else {
            let text = String::from_utf8_lossy(&body);
            if member(&text, "id").as_deref() != Ok(event) {
                self.faults.push(format!("{event} is another event by its body: {text}"));
            }
            let rest = text.split_once("\"resource\":{\"type\":\"user\",\"id\":\"").map(|(_, rest)| rest);
            let user = rest.and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned();
            self.events.insert(event.to_owned(), Event { user, body, kills });
            return;
        };
        if before.body != body {
            self.faults.push(format!("{event} came again with another body"));
        }
        let since = self.kills.get_mut(before.kills..).unwrap_or_default();
        before.kills = kills;
        // A live worker knows what it has sent, so a kill of the database is the last possible cause.
        let open = |kill: &&mut Kill| kill.open.contains(event);
        let (workers, databases): (Vec<_>, Vec<_>) =
            since.iter_mut().filter(open).partition(|kill| kill.victim != Victim::Database);
        match workers.into_iter().chain(databases).next() {
            Some(kill) => kill.again += 1,
            None => self.faults.push(format!("{event} came again, and not because of a kill")),
        }
    }
}

/// Prints by victim how many deliveries could be repeated and how many were. A live worker repeats none.
pub(crate) fn report(receivers: &[Receiver]) -> Result<()> {
    println!(
        "| kill -9 of | times | on their way | the most for one | duplicates | the most for one |\n|---|---|---|---|---|---|"
    );
    let mut kills: Vec<Figures> = Vec::new();
    for receiver in receivers {
        for (number, one) in receiver.figures().into_iter().enumerate() {
            match kills.get_mut(number) {
                Some(sum) => (sum.open, sum.again) = (sum.open + one.open, sum.again + one.again),
                None => kills.push(one),
            }
        }
    }
    let victims = [
        (Victim::Worker, "the worker"),
        (Victim::BusyWorker, "the worker, PostgreSQL just back"),
        (Victim::Database, "PostgreSQL"),
    ];
    for (victim, name) in victims {
        let of_it: Vec<_> = kills.iter().filter(|kill| kill.victim == victim).collect();
        let shown = |figure: fn(&Figures) -> usize| {
            let figures = of_it.iter().map(|kill| figure(kill));
            format!("{} | {}", figures.clone().sum::<usize>(), figures.max().unwrap_or(0))
        };
        let (open, again) = (shown(|kill| kill.open), shown(|kill| kill.again));
        println!("| {name} | {} | {open} | {again} |", of_it.len());
        let most = of_it.len() * (receivers.len() * IN_FLIGHT + GROUP);
        if victim == Victim::Worker && of_it.iter().map(|kill| kill.open).sum::<usize>() > most {
            return Err("outcomes are recorded late".into());
        }
        if victim == Victim::Database && again != "0 | 0" {
            return Err("a worker that lives has sent something again".into());
        }
    }
    Ok(())
}

/// Reads a request: the event ID of its header, and the body.
fn request(stream: &mut BufReader<TcpStream>) -> std::io::Result<(String, Vec<u8>)> {
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
