//! Clients that use the server while faults are injected: identity providers that create users, and a load balancer
//! that probes readiness.

use std::{
    fmt,
    io::{BufRead, BufReader, Error, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use xtask::{server::member, sh, wait::until};

/// Timeout of a request.
const PATIENCE: Duration = Duration::from_mins(1);
/// Pause before a retry.
const PAUSE: Duration = Duration::from_millis(10);

/// A response.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// The cookies that it sets, as a browser sends them.
    pub(crate) cookies: String,
    /// `Location`, empty if there is none.
    pub(crate) location: String,
    is_kept: bool,
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.body)
    }
}

/// A client whose connection is opened on demand.
pub(crate) struct Client {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    /// Sends a request and returns status and body, or an error if there was no response.
    pub(crate) fn send(&mut self, request: &str) -> Result<(u16, String), Error> {
        self.exchange(request).map(|response| (response.status, response.body))
    }

    /// Sends a request and returns the response, or an error if there was none.
    pub(crate) fn exchange(&mut self, request: &str) -> Result<Response, Error> {
        let response = self.ask(request);
        if !response.as_ref().is_ok_and(|response| response.is_kept) {
            self.stream = None;
        }
        response
    }

    /// Returns the server's address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    fn ask(&mut self, request: &str) -> Result<Response, Error> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let stream = TcpStream::connect(self.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                none.insert(BufReader::new(stream))
            }
        };
        stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or(ErrorKind::UnexpectedEof)?;
        let (mut length, mut is_kept) = (0, true);
        let (mut cookies, mut location) = (Vec::new(), String::new());
        loop {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length: ") {
                length = value.parse().unwrap_or(0);
            }
            is_kept &= header != "connection: close";
            let value = line.trim_end().split_once(": ").map(|(_, value)| value);
            if header.starts_with("location: ") {
                value.unwrap_or_default().clone_into(&mut location);
            }
            if header.starts_with("set-cookie: ") {
                let cookie = value.and_then(|cookie| cookie.split(';').next());
                cookies.extend(cookie.filter(|cookie| !cookie.ends_with('=')).map(str::to_owned));
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Response { status, body, cookies: cookies.join("; "), location, is_kept })
    }
}

/// Builds the request that creates a user with this name and two addresses.
pub(crate) fn create(token: &str, name: &str) -> String {
    let body = format!(
        r#"{{"userName":"{name}","emails":[{{"value":"{name}@a.example","type":"work"}},{{"value":"{name}@b.example","type":"home"}}]}}"#
    );
    format!(
        "POST /api/scim/v2/Users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/scim+json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Builds a request without a body.
pub(crate) fn get(token: &str, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n")
}

/// Observations of all clients.
#[derive(Default)]
pub(crate) struct Seen {
    /// IDs of users whose creation was answered with 201.
    pub(crate) created: Mutex<Vec<String>>,
    pub(crate) refused: AtomicU64,
    pub(crate) unanswered: AtomicU64,
    /// Responses that should not occur.
    pub(crate) wrong: Mutex<Vec<String>>,
    /// Readiness probes: start time, end time, and result.
    pub(crate) probes: Mutex<Vec<Probe>>,
    stop: AtomicBool,
}

#[derive(Clone, Copy)]
pub(crate) struct Probe {
    pub(crate) asked: Instant,
    pub(crate) answered: Instant,
    /// `None`: no response.
    pub(crate) ready: Option<bool>,
}

/// Stops all clients on drop, including after a failure.
pub(crate) struct Stop<'s>(pub(crate) &'s Seen);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Release);
    }
}

impl Seen {
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Records a response that should not occur.
    pub(crate) fn note_wrong(&self, response: String) {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).push(response);
    }

    pub(crate) fn count(&self) -> usize {
        self.created.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Waits until this many more users were created.
    pub(crate) fn progress(&self, more: usize) -> sh::Result<()> {
        let before = self.count();
        until(Duration::from_secs(30), "no user was created", || Ok(self.count() >= before + more))
    }

    /// Returns an error if an answer should not occur.
    pub(crate) fn refuse_wrong(&self) -> sh::Result<()> {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let error = |first| format!("{} wrong answers, the first {first}", wrong.len());
        wrong.first().map_or(Ok(()), |first| Err(error(first)))
    }

    /// Creates users until stopped.
    pub(crate) fn write(&self, address: SocketAddr, token: &str, writer: &str) {
        let mut client = Client::new(address);
        for number in 0.. {
            if self.stopped() {
                return;
            }
            match client.send(&create(token, &format!("{writer}-{number}"))) {
                Ok((201, body)) => {
                    let id = member(&body, "id").unwrap_or_default();
                    self.created.lock().unwrap_or_else(PoisonError::into_inner).push(id);
                }
                Ok((503, _)) => {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(PAUSE);
                }
                Ok((status, body)) => {
                    let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
                    wrong.push(format!("{status} {body}"));
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
                    wrong.push(format!("no answer within {PATIENCE:?}"));
                }
                Err(_) => {
                    self.unanswered.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(PAUSE);
                }
            }
        }
    }

    /// Probes readiness until stopped.
    pub(crate) fn probe(&self, address: SocketAddr) {
        let mut client = Client::new(address);
        while !self.stopped() {
            let asked = Instant::now();
            let answer = client.send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
            let ready = answer.ok().map(|(status, _)| status == 200);
            let probe = Probe { asked, answered: Instant::now(), ready };
            self.probes.lock().unwrap_or_else(PoisonError::into_inner).push(probe);
            thread::sleep(PAUSE);
        }
    }

    /// Returns the probes that started and ended within this interval.
    pub(crate) fn within(&self, from: Instant, to: Instant) -> Vec<Probe> {
        let probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        probes.iter().filter(|probe| probe.asked >= from && probe.answered <= to).copied().collect()
    }

    /// Returns since when the server has been ready, if it became ready after this time.
    pub(crate) fn ready_after(&self, from: Instant) -> Option<Instant> {
        let probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        probes
            .iter()
            .find(|probe| probe.asked >= from && probe.ready == Some(true))
            .map(|probe| probe.answered)
    }
}
