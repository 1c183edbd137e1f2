//! Somebody who signs in and out.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use xtask::sh::Result;

use super::{
    Actor, PASSWORD,
    client::{Caller, browser, sessions},
};
use crate::clients::Response;

/// Time between two sign-ins: ten in five minutes are allowed.
const BETWEEN_SIGN_INS: Duration = Duration::from_secs(35);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Live,
    Ended,
}

/// A session as the model knows it.
struct Session {
    cookies: String,
    possible: BTreeSet<State>,
}

/// Somebody with a password.
pub(super) struct Visitor {
    email: String,
    number: usize,
    sessions: Vec<Session>,
    signed_in: Option<Instant>,
    step: usize,
}

impl Visitor {
    pub(super) fn new(email: &str, number: usize) -> Self {
        Self { email: email.to_owned(), number, sessions: Vec::new(), signed_in: None, step: number }
    }

    fn sign_in(&mut self, caller: &mut Caller) -> Result<()> {
        self.signed_in = Some(Instant::now());
        let body = format!(r#"{{"email":"{}","password":"{PASSWORD}"}}"#, self.email);
        let request = browser("POST", "/api/auth/sign-in", self.number, "", &body);
        match caller.send(&request) {
            Some(answer) if answer.status == 200 => {
                self.sessions.push(Session { cookies: answer.cookies, possible: [State::Live].into() });
                Ok(())
            }
            // The clock of a server may have jumped into a window of the limit.
            Some(answer) if answer.status != 429 => Err(format!("sign-in of {}: {answer}", self.email)),
            _ => Ok(()),
        }
    }

    /// Uses or ends a session.
    fn use_session(&mut self, at: usize, ends: bool, caller: &mut Caller) -> Result<()> {
        let Some(session) = self.sessions.get(at) else { return Ok(()) };
        let (method, path) = if ends { ("POST", "/api/auth/sign-out") } else { ("GET", "/api/me") };
        let answer = caller.send(&browser(method, path, self.number, &sessions(&session.cookies), ""));
        self.compare(at, ends, answer)
    }

    /// Compares the answer to the use or the end of a session with the model.
    fn compare(&mut self, at: usize, ends: bool, answer: Option<Response>) -> Result<()> {
        let email = &self.email;
        let Some(session) = self.sessions.get_mut(at) else { return Ok(()) };
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

impl Actor for Visitor {
    fn act(&mut self, caller: &mut Caller) -> Result<()> {
        self.step += 1;
        if self.signed_in.is_none_or(|at| at.elapsed() > BETWEEN_SIGN_INS) {
            return self.sign_in(caller);
        }
        let at = self.step * 31 % self.sessions.len().max(1);
        self.use_session(at, self.step.is_multiple_of(41), caller)
    }

    fn check(&mut self, caller: &mut Caller) -> Result<()> {
        for at in 0..self.sessions.len() {
            let cookies = self.sessions.get(at).map(|session| sessions(&session.cookies)).unwrap_or_default();
            let answer = caller.ask(&browser("GET", "/api/me", self.number, &cookies, ""))?;
            self.compare(at, false, Some(answer))?;
        }
        Ok(())
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(60)
    }
}
