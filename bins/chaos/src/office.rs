//! Clients that create users at a limited pace, up to a limit.

use std::{
    net::SocketAddr,
    sync::{
        PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use xtask::server::member;

use crate::clients::{Client, Seen, create};

/// Pause of each client after a response.
const REST: Duration = Duration::from_millis(8);

/// The clients' shared state, and how many users they may create so far.
#[derive(Default)]
pub(crate) struct Office {
    pub(crate) seen: Seen,
    allowed: AtomicUsize,
    begun: AtomicUsize,
}

impl Office {
    /// Allows this many more users.
    pub(crate) fn allow(&self, more: usize) {
        self.allowed.fetch_add(more, Ordering::AcqRel);
    }

    /// Returns whether all allowed users are created or being created.
    pub(crate) fn is_done(&self) -> bool {
        self.begun.load(Ordering::Acquire) >= self.allowed.load(Ordering::Acquire)
    }

    /// Creates users until stopped.
    pub(crate) fn write(&self, address: SocketAddr, token: &str, writer: usize) {
        let mut client = Client::new(address);
        for number in 0.. {
            if self.seen.stopped() {
                return;
            }
            let allowed = self.allowed.load(Ordering::Acquire);
            let next = |begun| (begun < allowed).then_some(begun + 1);
            if self.begun.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok() {
                // Each name is used once. After an error the client does not retry, so the user exists or does not.
                self.note(client.send(&create(token, &format!("w{writer}-{number}"))));
            }
            thread::sleep(REST);
        }
    }

    fn note(&self, answer: std::io::Result<(u16, String)>) {
        let (list, text) = match answer {
            Ok((201, body)) => (&self.seen.created, member(&body, "id").unwrap_or_default()),
            Ok((503, _)) => {
                self.seen.refused.fetch_add(1, Ordering::Relaxed);
                self.begun.fetch_sub(1, Ordering::AcqRel);
                return;
            }
            Ok((status, body)) => (&self.seen.wrong, format!("{status} {body}")),
            Err(error) => (&self.seen.wrong, error.to_string()),
        };
        list.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}
