//! Receivers of webhooks that keep a book: what came, what came again, and whether it was allowed to.

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

/// What the server sends to one subscription at the same time, unless told otherwise.
const IN_FLIGHT: usize = 4;
/// What it records at once: so many outcomes at most wait for others, as long as recording works.
const GROUP: usize = 100;
/// How long the connections of a dead process may stay.
const GONE: Duration = Duration::from_secs(10);

/// What is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    /// The worker, when it had recorded what came of deliveries as it does.
    Worker,
    /// The worker, when PostgreSQL was just back, so that much was not recorded yet.
    BusyWorker,
    Database,
}

/// One receiver. Its threads end with the process.
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
    /// Kills before it came last: only a later one lets it come again.
    kills: usize,
}

/// What a kill meant to one receiver.
struct Kill {
    victim: Victim,
    /// Events that had come, and of which the database knew no outcome.
    open: HashSet<String>,
    again: usize,
}

/// A kill in figures.
#[derive(Clone, Copy)]
struct Figures {
    victim: Victim,
    /// What could come again.
    open: usize,
    /// Deliveries that came again.
    again: usize,
}

impl Receiver {
    /// Listens on loopback, and answers each request after so long.
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

    /// Requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.desk.book().requests
    }

    /// Waits until what a dead process has sent is read to its end: all that it sent is in the book then.
    pub(crate) fn forsaken(&self) -> Result<()> {
        // Connections are taken in turn: when this one has been, so have been those before it.
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

    /// Something was killed, and these events have no outcome in the database: those that came may come again.
    pub(crate) fn killed(&self, victim: Victim, unrecorded: &HashSet<String>) {
        let mut book = self.desk.book();
        let open = unrecorded.iter().filter(|event| book.events.contains_key(*event)).cloned().collect();
        book.kills.push(Kill { victim, open, again: 0 });
    }

    /// All kills so far.
    fn figures(&self) -> Vec<Figures> {
        let book = self.desk.book();
        let figures = |kill: &Kill| Figures { victim: kill.victim, open: kill.open.len(), again: kill.again };
        book.kills.iter().map(figures).collect()
    }

    /// Exactly one event of each of these people came, and nothing that may not: so many requests.
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
        // A worker that lives knows what it has sent: so a kill of the database is the last to be blamed.
        let open = |kill: &&mut Kill| kill.open.contains(event);
        let (workers, databases): (Vec<_>, Vec<_>) =
            since.iter_mut().filter(open).partition(|kill| kill.victim != Victim::Database);
        match workers.into_iter().chain(databases).next() {
            Some(kill) => kill.again += 1,
            None => self.faults.push(format!("{event} came again, and not because of a kill")),
        }
    }
}

/// By what was killed: how much could come again and how much did. A worker that lives sends nothing again.
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

/// The id of the event by the header, and the body.
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
