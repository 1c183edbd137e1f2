//! Somebody who proves presence for an act, and tries to use each proof again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::BASE32_NOPAD;
use totp_lite::{Sha1, totp_custom};
use xtask::{server::member, sh::Result};

use super::{
    Actor, PASSWORD,
    client::{Caller, browser, cookies},
};
use crate::clients::Response;

/// The purpose of the tokens that are sent again and again.
const PURPOSE: &str = "PAYROLL_SEAL";

/// A step-up token, and how often it was accepted.
struct Token {
    text: String,
    accepted: usize,
}

/// Somebody with a session and an authenticator app.
pub(super) struct StepUpUser {
    email: String,
    number: usize,
    cookies: String,
    secret: Vec<u8>,
    /// The last time step whose code was sent.
    used: u64,
    tokens: Vec<Token>,
}

#[expect(clippy::disallowed_methods, reason = "an authenticator app uses its own clock")]
fn time_step() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()) / 30
}

fn body(purpose: &str) -> String {
    format!(r#"{{"purpose":"{purpose}"}}"#)
}

fn good(answer: Response) -> Result<Response> {
    if answer.status == 200 { Ok(answer) } else { Err(answer.to_string()) }
}

impl StepUpUser {
    /// Signs in and enrols an authenticator app.
    pub(super) fn enrol(caller: &mut Caller, email: &str, number: usize) -> Result<Self> {
        let number = 100 + number;
        let email = email.to_owned();
        let (cookies, secret) = (String::new(), Vec::new());
        let mut somebody = Self { email, number, cookies, secret, used: time_step(), tokens: Vec::new() };
        let body = format!(r#"{{"email":"{}","password":"{PASSWORD}"}}"#, somebody.email);
        somebody.cookies = good(caller.ask(&somebody.post("/api/auth/sign-in", "", &body))?)?.cookies;
        let setup = good(caller.ask(&somebody.post("/api/me/factors/totp", "", "{}"))?)?.body;
        let secret = BASE32_NOPAD.decode(member(&setup, "secret")?.as_bytes());
        somebody.secret = secret.map_err(|error| error.to_string())?;
        let (id, code) = (member(&setup, "id")?, somebody.code());
        let body = format!(r#"{{"id":"{id}","code":"{code}"}}"#);
        // Proving a factor changes the session.
        somebody.cookies =
            good(caller.ask(&somebody.post("/api/me/factors/totp/verify", "", &body))?)?.cookies;
        Ok(somebody)
    }

    fn code(&self) -> String {
        totp_custom::<Sha1>(30, 6, &self.secret, self.used * 30)
    }

    fn post(&self, path: &str, more: &str, body: &str) -> String {
        browser("POST", path, self.number, &format!("{}{more}", cookies(&self.cookies)), body)
    }

    /// Answers a challenge with an unused code. Returns the token, unless the result is uncertain.
    fn step_up(&mut self, purpose: &str, caller: &mut Caller) -> Result<Option<String>> {
        let options = self.post("/api/auth/step-up/challenge-options", "", &body(purpose));
        let Some(asked) = caller.send(&options) else { return Ok(None) };
        let challenge =
            member(&good(asked).map_err(|answer| format!("{}: {answer}", self.email))?.body, "challengeId")?;
        // The server accepts the code of the next time step too.
        self.used = time_step().max(self.used + 1);
        let body = format!(r#"{{"challengeId":"{challenge}","factor":"TOTP","code":"{}"}}"#, self.code());
        match caller.send(&self.post("/api/auth/step-up/verify", "", &body)) {
            Some(Response { status: 200, body, .. }) => member(&body, "token").map(Some),
            // The clock of the server may be wrong, and a lost answer may have used the code.
            Some(answer) if ![401, 429].contains(&answer.status) => Err(format!("{}: {answer}", self.email)),
            _ => Ok(None),
        }
    }

    /// Posts a change that needs a step-up, to servers of which none fails. Returns the body of the response.
    pub(super) fn change(
        &mut self,
        purpose: &str,
        (path, change): (&str, &str),
        caller: &mut Caller,
    ) -> Result<String> {
        let token = self.step_up(purpose, caller)?.ok_or_else(|| format!("no step-up for {purpose}"))?;
        let answer = caller.ask(&self.post(path, &format!("X-StepUp-Token: {token}\r\n"), change))?;
        Ok(good(answer)?.body)
    }

    /// Sends a token, perhaps again. It may be accepted once.
    fn consume(&mut self, at: usize, caller: &mut Caller) -> Result<()> {
        let Some(token) = self.tokens.get(at) else { return Ok(()) };
        let header = format!("X-StepUp-Token: {}\r\n", token.text);
        let answer = caller.send(&self.post("/api/auth/step-up/consume", &header, &body(PURPOSE)));
        let Some(token) = self.tokens.get_mut(at) else { return Ok(()) };
        match answer {
            Some(answer) if answer.status == 200 => {
                token.accepted += 1;
                if token.accepted > 1 {
                    return Err(format!("a token of {} was accepted twice", self.email));
                }
                Ok(())
            }
            Some(answer) if answer.status != 401 => Err(format!("{}: {answer}", self.email)),
            _ => Ok(()),
        }
    }
}

impl Actor for StepUpUser {
    fn act(&mut self, caller: &mut Caller) -> Result<()> {
        if time_step() > self.used {
            let token = self.step_up(PURPOSE, caller)?;
            self.tokens.extend(token.map(|text| Token { text, accepted: 0 }));
        }
        // The newest token first, then again and again.
        for at in (0..self.tokens.len()).rev().take(2) {
            self.consume(at, caller)?;
        }
        Ok(())
    }

    fn check(&mut self, caller: &mut Caller) -> Result<()> {
        // The session is alive, and no token is accepted again.
        good(caller.ask(&browser("GET", "/api/me", self.number, &cookies(&self.cookies), ""))?)
            .map_err(|answer| format!("the session of {} is lost: {answer}", self.email))?;
        for at in (0..self.tokens.len()).rev().take(3) {
            self.consume(at, caller)?;
        }
        Ok(())
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(250)
    }
}
