//! Events that arrive while the server is killed.

use std::{
    io::ErrorKind,
    net::SocketAddr,
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use directory::Role;
use kernel::Env;
use serde_json::{Value, json};
use store::testing::Kind;

use super::{Site, transmitter::endpoint};
use crate::support::{Caller, Server, eventually};

const EVENTS: usize = 60;
const SENDERS: usize = 4;
const KILLS: usize = 5;

/// Time limit for a start of the server.
const START: Duration = Duration::from_mins(1);

/// Where the server is.
#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    #[default]
    Down,
    At(SocketAddr),
    /// The test is over.
    Over,
}

#[derive(Default)]
struct Running {
    state: Mutex<State>,
    changed: Condvar,
}

impl Running {
    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_all();
    }

    /// Waits for the server. `None`: the test is over.
    fn address(&self) -> Option<SocketAddr> {
        let state = self.state.lock().unwrap();
        let (state, _) =
            self.changed.wait_timeout_while(state, START, |state| *state == State::Down).unwrap();
        match *state {
            State::Down => panic!("the server does not start again"),
            State::At(address) => Some(address),
            State::Over => None,
        }
    }
}

/// Stops the senders when the test is over, also if it fails.
struct Over<'a>(&'a Running);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.set(State::Over);
    }
}

/// A transmitter that repeats a token until it is acknowledged, as RFC 8935 §4 describes.
struct Sender<'a> {
    transmitter: &'a Value,
    running: &'a Running,
    acknowledged: &'a AtomicUsize,
    /// Requests that ended without a response, apart from those for which no server accepted the connection.
    broken: &'a AtomicUsize,
}

impl Sender<'_> {
    fn send(&self, token: &str) {
        let header = self.transmitter["authorization"].as_str().unwrap();
        let path = endpoint(self.transmitter);
        while let Some(address) = self.running.address() {
            let caller = Caller::anonymous(address).with("Authorization", header);
            match caller.try_send("POST", path, Some("application/secevent+jwt"), token) {
                Ok(answer) => {
                    assert_eq!(answer.status, 202, "{}", answer.text);
                    self.acknowledged.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                Err(ureq::Error::Io(error)) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(_) => {
                    self.broken.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
    }
}

#[test]
fn killed_server_has_each_event_and_its_consequence_once() {
    for kind in Kind::ALL {
        let server = Server::start(kind, &[]);
        let site = Site::new(&server, &json!({ "accountDisabled": "DISABLE_USER" }));
        let tokens: Vec<String> = (0..EVENTS)
            .map(|number| {
                let email = format!("user{number}@corp.example");
                server.person(&site.oidc.tenant, &email, Role::Member);
                let subject = json!({ "format": "email", "email": email });
                site.token(&site.claims(
                    &format!("e{number}"),
                    "account-disabled",
                    &subject,
                    server.env.now(),
                ))
            })
            .collect();

        let (running, acknowledged, broken) = (Running::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        let sender = Sender {
            transmitter: &site.transmitter,
            running: &running,
            acknowledged: &acknowledged,
            broken: &broken,
        };
        std::thread::scope(|scope| {
            let _over = Over(&running);
            for own in tokens.chunks(EVENTS / SENDERS) {
                let sender = &sender;
                scope.spawn(move || own.iter().for_each(|token| sender.send(token)));
            }
            let process = server.process();
            for round in 1..=KILLS {
                let serving = process.serve();
                running.set(State::At(serving.address));
                eventually(|| acknowledged.load(Ordering::SeqCst) >= round * EVENTS / (KILLS + 1));
                running.set(State::Down);
                serving.kill();
            }
            let serving = process.serve();
            running.set(State::At(serving.address));
            eventually(|| acknowledged.load(Ordering::SeqCst) == EVENTS);
        });
        println!("{kind:?}: {} requests ended without a response", broken.load(Ordering::SeqCst));
        assert!(broken.load(Ordering::SeqCst) > 0, "no request was in progress at a kill");
        for number in 0..EVENTS {
            assert_eq!(site.received(&server, &format!("e{number}"))["outcome"], "USER_DISABLED");
        }
        assert_eq!(site.entries(&server, "ACCOUNT_USER_DEACTIVATED").len(), EVENTS);
    }
}
