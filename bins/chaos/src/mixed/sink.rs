//! A receiver of webhooks and of shared signals that may refuse, or answer late.

use std::{
    collections::{BTreeSet, HashSet},
    io::{BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use xtask::{server::member, sh::Result, wait::until};

use super::client::{Caller, browser};
use crate::receivers::request;

/// Number of the address that subscribes.
const NUMBER: usize = 97;

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
    /// Users whose creation has arrived as a webhook and was accepted.
    delivered: HashSet<String>,
    /// Users whose creation has arrived as a security event token and was accepted.
    signalled: HashSet<String>,
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
            let status = if manner == Manner::Refuses { "503 Service Unavailable" } else { "202 Accepted" };
            if manner != Manner::Refuses {
                let body = String::from_utf8_lossy(&body).into_owned();
                let mut shared = self.shared();
                if let Some(claims) = claims(&body) {
                    shared.signalled.extend(after(&claims, r#""uri":"/Users/"#));
                } else {
                    shared.delivered.extend(after(&body, r#""resource":{"type":"user","id":""#));
                }
            }
            write!(stream.get_mut(), "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")?;
        }
    }

    /// Subscribes to the events of new users, as webhooks and as pushed security event tokens.
    pub(super) fn subscribe(&self, caller: &mut Caller, pat: &str) -> Result<()> {
        let url = format!("http://{}/", self.address);
        let webhook = json!({ "name": "sink", "url": url, "eventFilters": ["ACCOUNT_USER_CREATED"] });
        post(caller, pat, "/api/settings/webhooks", &webhook)?;
        let receiver = json!({ "name": "sink", "audience": "https://sink.example/" });
        let receiver = post(caller, pat, "/api/settings/signals/receivers", &receiver)?;
        let stream = json!({
            "delivery": { "method": "urn:ietf:rfc:8935", "endpoint_url": url },
            "events_requested": ["urn:ietf:params:scim:event:prov:create:notice"],
        });
        post(caller, &member(&receiver, "token")?, "/api/ssf/stream", &stream).map(drop)
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
            let has_arrived =
                |user: &&String| shared.delivered.contains(*user) && shared.signalled.contains(*user);
            shared.expected.iter().filter(|user| !has_arrived(user)).count()
        };
        until(most, "events have not arrived", || Ok(missing() == 0))
            .map_err(|problem| format!("{problem}: {} are missing", missing()))?;
        println!(
            "the creation of {} users arrived as a webhook and as a signal",
            self.shared().expected.len()
        );
        Ok(())
    }
}

/// Posts JSON, and returns the body of the response.
fn post(caller: &mut Caller, token: &str, path: &str, body: &Value) -> Result<String> {
    let headers = format!("Authorization: Bearer {token}\r\n");
    let answer = caller.ask(&browser("POST", path, NUMBER, &headers, &body.to_string()))?;
    if [200, 201].contains(&answer.status) { Ok(answer.body) } else { Err(format!("POST {path}: {answer}")) }
}

/// Returns the claims of a token, whose signature is not verified; `None` if it is none.
fn claims(token: &str) -> Option<String> {
    let payload = token.split('.').nth(1)?;
    String::from_utf8(BASE64URL_NOPAD.decode(payload.as_bytes()).ok()?).ok()
}

/// Returns what follows this text, up to a quotation mark.
fn after(text: &str, start: &str) -> Option<String> {
    text.split_once(start)?.1.split('"').next().map(str::to_owned)
}
