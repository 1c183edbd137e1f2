//! An ordered webhook: a receiver that checks the order of events, and the changes that cause them.

use std::{
    collections::HashMap,
    io::{BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use xtask::{server::member, sh::Result};

use crate::{
    clients::{Client, Seen},
    receivers::request,
};

/// Groups whose events have to arrive in order.
const GROUPS: usize = 3;
/// Pause between two changes.
const REST: Duration = Duration::from_millis(40);
/// One in this many events is refused at its first attempt, so that it is retried after five seconds. A retry is not
/// refused: the next one would follow after five minutes, longer than a run waits.
const REFUSED: usize = 25;

/// A receiver of events about groups. Its threads end with the process.
pub(crate) struct OrderedReceiver {
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<OrderLog>>,
}

#[derive(Default)]
struct OrderLog {
    /// The newest event of each group.
    newest: HashMap<String, String>,
    accepted: HashMap<String, usize>,
    requests: usize,
    /// Events that were attempted.
    events: usize,
    refused: usize,
    faults: Vec<String>,
}

impl OrderedReceiver {
    pub(crate) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let log = Arc::new(Mutex::<OrderLog>::default());
        let shared = Arc::clone(&log);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &log));
            }
        });
        Ok(Self { address, log })
    }

    /// Checks that no event came after a later one of its group, and that this many events were accepted.
    pub(crate) fn check(&self, events: usize) -> Result<()> {
        let log = lock(&self.log);
        if let Some(first) = log.faults.first() {
            return Err(format!("{} events out of order, the first: {first}", log.faults.len()));
        }
        if log.accepted.len() != events || log.refused == 0 {
            return Err(format!(
                "{} of {events} events accepted, {} refused",
                log.accepted.len(),
                log.refused
            ));
        }
        let repeated = log.accepted.values().filter(|times| **times > 1).count();
        println!(
            "ordered: {events} events about {} groups in {} requests, {} refused, {repeated} repeated, none overtaken",
            log.newest.len(),
            log.requests,
            log.refused
        );
        Ok(())
    }
}

fn lock(log: &Mutex<OrderLog>) -> MutexGuard<'_, OrderLog> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, log: &Mutex<OrderLog>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let (event, body) = request(&mut stream)?;
        let is_accepted = lock(log).note(&event, &String::from_utf8_lossy(&body));
        let status = if is_accepted { "200 OK" } else { "503 Service Unavailable" };
        write!(stream.get_mut(), "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")?;
    }
}

impl OrderLog {
    /// Records an attempt. Returns whether it is accepted. The IDs of a group's events ascend.
    fn note(&mut self, event: &str, body: &str) -> bool {
        self.requests += 1;
        let rest = body.split_once("\"resource\":{\"type\":\"group\",\"id\":\"").map(|(_, rest)| rest);
        let group = rest.and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let newest = self.newest.entry(group.to_owned()).or_default();
        if event < newest.as_str() {
            self.faults.push(format!("{event} of {group} after {newest}"));
        }
        if event > newest.as_str() {
            if !newest.is_empty() && !self.accepted.contains_key(newest.as_str()) {
                self.faults.push(format!("{event} of {group} before {newest} was accepted"));
            }
            event.clone_into(newest);
            self.events += 1;
            if self.events.is_multiple_of(REFUSED) {
                self.refused += 1;
                return false;
            }
        }
        *self.accepted.entry(event.to_owned()).or_default() += 1;
        true
    }
}

/// Creates groups and returns their IDs.
pub(crate) fn create_groups(api: SocketAddr, token: &str) -> Result<Vec<String>> {
    let mut client = Client::new(api);
    let create = |number| {
        let made = client.send(&change(token, "POST", "", &format!("group {number}")));
        match made.map_err(|error| error.to_string())? {
            (201, body) => member(&body, "id"),
            (status, body) => Err(format!("creating a group answers {status}: {body}")),
        }
    };
    (0..GROUPS).map(create).collect()
}

/// Changes the groups in turn until stopped.
pub(crate) fn change_groups(api: SocketAddr, token: &str, groups: &[String], seen: &Seen) {
    let mut client = Client::new(api);
    for (number, group) in groups.iter().cycle().enumerate() {
        if seen.stopped() {
            return;
        }
        match client.send(&change(token, "PUT", &format!("/{group}"), &format!("name {number}"))) {
            Ok((200 | 503, _)) => {}
            Ok((status, body)) => seen.note_wrong(format!("{status} {body}")),
            Err(error) => seen.note_wrong(error.to_string()),
        }
        thread::sleep(REST);
    }
}

fn change(token: &str, method: &str, path: &str, name: &str) -> String {
    let body = format!(r#"{{"displayName":"{name}"}}"#);
    format!(
        "{method} /api/scim/v2/Groups{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/scim+json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_refused_at_first_attempts_and_accepted_at_retries() {
        let mut log = OrderLog::default();
        let mut note = |event: &str| log.note(event, r#""resource":{"type":"group","id":"grp_1""#);
        for number in 1..REFUSED {
            assert!(note(&format!("evt_{number:03}")));
        }
        let refused = format!("evt_{REFUSED:03}");
        assert!(!note(&refused), "the first attempt");
        assert!(note(&refused), "the retry");
        for number in REFUSED + 1..2 * REFUSED {
            assert!(note(&format!("evt_{number:03}")));
            assert!(note(&format!("evt_{number:03}")), "a repetition");
        }
        assert!(!note(&format!("evt_{:03}", 2 * REFUSED)));
        assert!(log.faults.is_empty(), "{:?}", log.faults);
    }
}
