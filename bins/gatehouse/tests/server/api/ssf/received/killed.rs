//! Events that arrive while the server is killed.

use std::{
    net::SocketAddr,
    sync::{
        Condvar, Mutex,
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

/// The address of the server, while it runs.
#[derive(Default)]
struct Running {
    address: Mutex<Option<SocketAddr>>,
    changed: Condvar,
}

impl Running {
    fn set(&self, address: Option<SocketAddr>) {
        *self.address.lock().unwrap() = address;
        self.changed.notify_all();
    }

    fn get(&self) -> SocketAddr {
        let guard = self.address.lock().unwrap();
        let (guard, _) = self.changed.wait_timeout_while(guard, START, |address| address.is_none()).unwrap();
        guard.expect("the server starts again")
    }
}

/// A transmitter that repeats a token until it is acknowledged, as RFC 8935 §4 describes.
struct Sender<'a> {
    transmitter: &'a Value,
    running: &'a Running,
    acknowledged: &'a AtomicUsize,
    /// Requests that ended without a response.
    broken: &'a AtomicUsize,
}

impl Sender<'_> {
    fn send(&self, token: &str) {
        let header = self.transmitter["authorization"].as_str().unwrap();
        let path = endpoint(self.transmitter);
        loop {
            let caller = Caller::anonymous(self.running.get()).with("Authorization", header);
            match caller.try_send("POST", path, Some("application/secevent+jwt"), token) {
                Ok(answer) => {
                    assert_eq!(answer.status, 202, "{}", answer.text);
                    self.acknowledged.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                Err(_) => self.broken.fetch_add(1, Ordering::SeqCst),
            };
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
            for own in tokens.chunks(EVENTS / SENDERS) {
                let sender = &sender;
                scope.spawn(move || own.iter().for_each(|token| sender.send(token)));
            }
            let process = server.process();
            for round in 1..=KILLS {
                let serving = process.serve();
                running.set(Some(serving.address));
                eventually(|| acknowledged.load(Ordering::SeqCst) >= round * EVENTS / (KILLS + 1));
                serving.kill();
                running.set(None);
            }
            let serving = process.serve();
            running.set(Some(serving.address));
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
