//! Somebody who signs in with a password, and out.

use std::time::{Duration, Instant};

use xtask::sh::Result;

use super::{
    Actor, PASSWORD,
    client::{Caller, browser},
    session::Sessions,
};

/// Time between two sign-ins: ten in five minutes are allowed.
const BETWEEN_SIGN_INS: Duration = Duration::from_secs(35);

/// Somebody with a password.
pub(super) struct Visitor {
    email: String,
    number: usize,
    sessions: Sessions,
    signed_in: Option<Instant>,
    step: usize,
}

impl Visitor {
    pub(super) fn new(email: &str, number: usize) -> Self {
        let sessions = Sessions::new(email, number);
        Self { email: email.to_owned(), number, sessions, signed_in: None, step: number }
    }

    fn sign_in(&mut self, caller: &mut Caller) -> Result<()> {
        self.signed_in = Some(Instant::now());
        let body = format!(r#"{{"email":"{}","password":"{PASSWORD}"}}"#, self.email);
        let request = browser("POST", "/api/auth/sign-in", self.number, "", &body);
        match caller.send(&request) {
            Some(answer) if answer.status == 200 => {
                self.sessions.begin(answer.cookies);
                Ok(())
            }
            // The clock of a server may have jumped into a window of the limit.
            Some(answer) if answer.status != 429 => Err(format!("sign-in of {}: {answer}", self.email)),
            _ => Ok(()),
        }
    }
}

impl Actor for Visitor {
    fn act(&mut self, caller: &mut Caller) -> Result<()> {
        self.step += 1;
        if self.signed_in.is_none_or(|at| at.elapsed() > BETWEEN_SIGN_INS) {
            return self.sign_in(caller);
        }
        self.sessions.act(self.step, self.step.is_multiple_of(41), caller)
    }

    fn check(&mut self, caller: &mut Caller) -> Result<()> {
        self.sessions.check(caller)
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(60)
    }
}
