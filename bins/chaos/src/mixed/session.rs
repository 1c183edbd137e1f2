//! Sessions as a model knows them.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use xtask::sh::Result;

use super::client::{Caller, browser, cookies};
use crate::clients::Response;

/// How far the clocks of two servers may differ, and a second because times of events are whole seconds.
const CLOCKS: Duration = Duration::from_secs(61);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Live,
    Ended,
}

struct Session {
    cookies: String,
    /// The states that it may be in: several after a request whose result is uncertain.
    possible: BTreeSet<State>,
    begun: Instant,
}

/// The sessions of a user.
pub(super) struct Sessions {
    email: String,
    /// Number of the client, from which its address follows.
    number: usize,
    all: Vec<Session>,
}

impl Sessions {
    pub(super) fn new(email: &str, number: usize) -> Self {
        Self { email: email.to_owned(), number, all: Vec::new() }
    }

    /// Adds a session that has just begun.
    pub(super) fn begin(&mut self, cookies: String) {
        self.all.push(Session { cookies, possible: [State::Live].into(), begun: Instant::now() });
    }

    /// Uses or ends any of the sessions, but the same ones in each run.
    pub(super) fn act(&mut self, step: usize, ends: bool, caller: &mut Caller) -> Result<()> {
        let at = step * 31 % self.all.len().max(1);
        let Some(session) = self.all.get(at) else { return Ok(()) };
        let (method, path) = if ends { ("POST", "/api/auth/sign-out") } else { ("GET", "/api/me") };
        let answer = caller.send(&browser(method, path, self.number, &cookies(&session.cookies), ""));
        self.compare(at, ends, answer)
    }

    /// Compares all sessions with the servers, of which none fails now.
    pub(super) fn check(&mut self, caller: &mut Caller) -> Result<()> {
        for at in 0..self.all.len() {
            let header = self.all.get(at).map(|session| cookies(&session.cookies)).unwrap_or_default();
            let answer = caller.ask(&browser("GET", "/api/me", self.number, &header, ""))?;
            self.compare(at, false, Some(answer))?;
        }
        Ok(())
    }

    /// An event at this time ends the sessions that had begun, certainly or perhaps. Because the clocks of the servers
    /// jump, those that began about then may be either. Returns how many were alive and are certainly ended.
    pub(super) fn revoke(&mut self, at: Instant, is_certain: bool) -> usize {
        let mut ended = 0;
        for session in &mut self.all {
            if session.begun > at + CLOCKS {
                continue;
            }
            if is_certain && session.begun + CLOCKS < at {
                ended += usize::from(session.possible == [State::Live].into());
                session.possible.clear();
            }
            session.possible.insert(State::Ended);
        }
        ended
    }

    /// Compares the answer to the use or the end of a session with the model.
    fn compare(&mut self, at: usize, ends: bool, answer: Option<Response>) -> Result<()> {
        let email = &self.email;
        let Some(session) = self.all.get_mut(at) else { return Ok(()) };
        let observed = match answer {
            Some(Response { status: 200, .. }) => State::Live,
            Some(Response { status: 401, .. }) => State::Ended,
            Some(other) => return Err(format!("a session of {email}: {other}")),
            None => {
                if ends {
                    session.possible.insert(State::Ended);
                }
                return Ok(());
            }
        };
        if !session.possible.contains(&observed) {
            return Err(format!("a session of {email} is {observed:?}, not one of {:?}", session.possible));
        }
        session.possible = [if ends { State::Ended } else { observed }].into();
        Ok(())
    }
}
