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

/// State that the clients share, and the number of users that they may create so far.
#[derive(Default)]
pub(crate) struct UserLoad {
    pub(crate) seen: Seen,
    allowed: AtomicUsize,
    started: AtomicUsize,
}

impl UserLoad {
    /// Allows this many more users.
    pub(crate) fn allow(&self, more: usize) {
        self.allowed.fetch_add(more, Ordering::AcqRel);
    }

    /// Returns whether all allowed users are created or being created.
    pub(crate) fn is_done(&self) -> bool {
        self.started.load(Ordering::Acquire) >= self.allowed.load(Ordering::Acquire)
    }

    /// Creates users until stopped.
    pub(crate) fn write(&self, address: SocketAddr, token: &str, writer: usize) {
        let mut client = Client::new(address);
        for number in 0.. {
            if self.seen.stopped() {
                return;
            }
            let allowed = self.allowed.load(Ordering::Acquire);
            let next = |started| (started < allowed).then_some(started + 1);
            if self.started.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok() {
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
                self.started.fetch_sub(1, Ordering::AcqRel);
                return;
            }
            Ok((status, body)) => (&self.seen.wrong, format!("{status} {body}")),
            Err(error) => (&self.seen.wrong, error.to_string()),
        };
        list.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}
