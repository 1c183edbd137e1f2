//! A webhook receiver that may refuse, or answer late.

use std::{
    collections::{BTreeSet, HashSet},
    io::{BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use xtask::{sh::Result, wait::until};

use super::client::Caller;
use crate::receivers::request;

/// How the receiver behaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Manner {
    #[default]
    Accepts,
    Refuses,
    IsLate,
}

#[derive(Default)]
struct Shared {
    manner: Manner,
    /// Users whose creation must arrive.
    expected: BTreeSet<String>,
    /// Users whose creation has arrived and was accepted.
    received: HashSet<String>,
}

/// A receiver of the events of new users. Its threads end with the process.
#[derive(Clone)]
pub(super) struct Sink {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

impl Sink {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let sink = Self { address, shared: Arc::default() };
        let receiver = sink.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let receiver = receiver.clone();
                thread::spawn(move || receiver.serve(stream));
            }
        });
        Ok(sink)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let (_, body) = request(&mut stream)?;
            let manner = self.shared().manner;
            if manner == Manner::IsLate {
                thread::sleep(Duration::from_secs(1));
            }
            let status = if manner == Manner::Refuses { "503 Service Unavailable" } else { "200 OK" };
            if manner != Manner::Refuses {
                let body = String::from_utf8_lossy(&body).into_owned();
                let rest = body.split_once("\"resource\":{\"type\":\"user\",\"id\":\"").map(|(_, rest)| rest);
                let user = rest.and_then(|rest| rest.split('"').next()).map(str::to_owned);
                self.shared().received.extend(user);
            }
            write!(stream.get_mut(), "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")?;
        }
    }

    /// Subscribes to the events of new users.
    pub(super) fn subscribe(&self, caller: &mut Caller, pat: &str) -> Result<()> {
        let body = format!(
            r#"{{"name":"sink","url":"http://{}/","eventFilters":["ACCOUNT_USER_CREATED"]}}"#,
            self.address
        );
        let answer = caller.ask(&format!(
            "POST /api/settings/webhooks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {pat}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))?;
        if answer.status == 200 { Ok(()) } else { Err(format!("creating a webhook: {answer}")) }
    }

    pub(super) fn set(&self, manner: Manner) {
        self.shared().manner = manner;
    }

    /// The creation of this user must arrive.
    pub(super) fn expect(&self, user: &str) {
        self.shared().expected.insert(user.to_owned());
    }

    /// Waits until everything has arrived.
    pub(super) fn await_all(&self, most: Duration) -> Result<()> {
        let missing = || {
            let shared = self.shared();
            shared.expected.iter().filter(|user| !shared.received.contains(*user)).count()
        };
        until(most, "events have not arrived", || Ok(missing() == 0))
            .map_err(|problem| format!("{problem}: {} are missing", missing()))?;
        println!("{} events of new users arrived", self.shared().expected.len());
        Ok(())
    }
}
