//! Requests to two servers, of which one may be away.

use std::{
    fmt,
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use xtask::sh::Result;

use crate::clients::{Client, Response};

/// Pause after a request without a result.
const PAUSE: Duration = Duration::from_millis(30);

/// What became of all requests of a round.
#[derive(Debug, Default)]
pub(super) struct Counts {
    answered: AtomicU64,
    refused: AtomicU64,
    unanswered: AtomicU64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        write!(f, "{} | {} | {}", of(&self.answered), of(&self.refused), of(&self.unanswered))
    }
}

/// A client of both servers. It stays with one until that does not answer.
pub(super) struct Caller<'c> {
    clients: [Client; 2],
    current: usize,
    counts: &'c Counts,
}

impl<'c> Caller<'c> {
    pub(super) fn new(addresses: [SocketAddr; 2], counts: &'c Counts) -> Self {
        Self { clients: addresses.map(Client::new), current: 0, counts }
    }

    /// Sends a request. `None` if it is uncertain whether the server carried it out: without a response, and after a 503,
    /// because the database may have failed after it committed.
    pub(super) fn send(&mut self, request: &str) -> Option<Response> {
        let client = self.clients.get_mut(self.current)?;
        let response = client.exchange(request);
        let (count, certain) = match response {
            Ok(response) if response.status == 503 => (&self.counts.refused, None),
            Ok(response) => (&self.counts.answered, Some(response)),
            Err(_) => {
                self.current = 1 - self.current;
                (&self.counts.unanswered, None)
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
        if certain.is_none() {
            thread::sleep(PAUSE);
        }
        certain
    }

    /// Sends a request to the first server, and returns the status.
    pub(super) fn send_first(&mut self, request: &str) -> Option<u16> {
        self.clients.first_mut()?.exchange(request).ok().map(|response| response.status)
    }

    /// Returns the address of the server that the next request goes to.
    pub(super) fn address(&self) -> SocketAddr {
        self.clients.get(self.current).map_or_else(|| ([127, 0, 0, 1], 1).into(), Client::address)
    }

    /// Sends a request to servers of which none fails.
    pub(super) fn ask(&mut self, request: &str) -> Result<Response> {
        // A kept connection may have been closed by a kill.
        let answered = self.send(request).or_else(|| self.send(request)).or_else(|| self.send(request));
        answered.ok_or_else(|| format!("no answer to {}", request.lines().next().unwrap_or_default()))
    }
}

/// Builds a request of a browser that sends JSON.
pub(super) fn browser(method: &str, path: &str, from: usize, more: &str, body: &str) -> String {
    request(method, path, from, &format!("Content-Type: application/json\r\n{more}"), body)
}

/// Builds a request of a browser that sends a form.
pub(super) fn form(path: &str, from: usize, more: &str, body: &str) -> String {
    let more = format!("Content-Type: application/x-www-form-urlencoded\r\n{more}");
    request("POST", path, from, &more, body)
}

/// Builds a request with these headers, from an address of its own behind a trusted proxy.
pub(super) fn request(method: &str, path: &str, from: usize, headers: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.9.0.{from}\r\n{headers}Content-Length: {}\r\n\r\n\
         {body}",
        body.len()
    )
}

/// Returns the header with these cookies.
pub(super) fn cookies(cookies: &str) -> String {
    format!("Cookie: {cookies}\r\n")
}
