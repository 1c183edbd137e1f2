//! Somebody who signs in with SAML or OpenID Connect, and tries to use each response of the provider again. The OpenID
//! provider also reports that the sessions of its users are revoked.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use form_urlencoded::Serializer;
use kernel::{Env, SystemEnv};
use serde_json::json;
use test_providers::{Authorization, Idp, OpenIdProvider, Sent};
use xtask::sh::Result;

use super::{
    Actor,
    client::{Caller, browser, cookies, form},
    session::Sessions,
    transmitter::{AUDIENCE, Transmitter},
};

/// Time between two sign-ins.
const BETWEEN_SIGN_INS: Duration = Duration::from_secs(10);
/// Requests of a user between two events about that user. Until then some sessions are older than the clocks may differ.
const REPORTED_EVERY: usize = 290;
/// Number of responses, and of events, that are kept to be sent again.
const KEPT: usize = 3;

/// An SSO connection.
#[derive(Clone)]
pub(super) enum Connection {
    /// The ID of the connection, and the identity provider.
    Saml(String, Arc<Idp>),
    /// The ID of the connection, the provider, and the same as a transmitter.
    OpenIdConnect(String, Box<OpenIdProvider>, Arc<Transmitter>),
}

/// What became of the sign-ins of all users.
#[derive(Debug, Default)]
pub(super) struct Seen {
    accepted: AtomicUsize,
    refused_again: AtomicUsize,
    events: AtomicUsize,
    ended: AtomicUsize,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        write!(
            f,
            "{} sign-ins with SSO, {} repeated responses refused, {} events accepted, which ended at least {} sessions",
            of(&self.accepted),
            of(&self.refused_again),
            of(&self.events),
            of(&self.ended)
        )
    }
}

/// A response of a provider as the browser brings it, and how often it was accepted.
struct Brought {
    request: String,
    accepted: usize,
}

/// An event of a transmitter.
struct Event {
    token: String,
    at: Instant,
}

/// A user of an SSO connection.
pub(super) struct SingleSignOn {
    connection: Connection,
    email: String,
    number: usize,
    sessions: Sessions,
    brought: VecDeque<Brought>,
    events: VecDeque<Event>,
    signed_in: Option<Instant>,
    step: usize,
    seen: Arc<Seen>,
}

impl SingleSignOn {
    pub(super) fn new(connection: Connection, email: &str, number: usize, seen: Arc<Seen>) -> Self {
        Self {
            seen,
            connection,
            email: email.to_owned(),
            number,
            sessions: Sessions::new(email, number),
            brought: VecDeque::new(),
            events: VecDeque::new(),
            signed_in: None,
            step: number,
        }
    }

    /// Starts a sign-in. Returns the request with which the browser brings the provider's response.
    fn start(&self, caller: &mut Caller) -> Result<Option<String>> {
        let now = SystemEnv::default().now();
        let path = match &self.connection {
            Connection::Saml(id, _) => format!("/api/saml/{id}"),
            Connection::OpenIdConnect(id, ..) => format!("/api/oidc/{id}"),
        };
        let Some(started) = caller.send(&browser("GET", &format!("{path}/login"), self.number, "", ""))
        else {
            return Ok(None);
        };
        let header = cookies(&started.cookies);
        match (&self.connection, started.status) {
            (Connection::Saml(_, idp), 200) => {
                let sent = Sent::of_page(&started.body);
                let response = idp.response(&sent.says(&self.email, now));
                let fields = [("SAMLResponse", response.as_str()), ("RelayState", &sent.relay_state)];
                let body = Serializer::new(String::new()).extend_pairs(fields).finish();
                let header = format!("{header}Origin: https://idp.example\r\nSec-Fetch-Site: cross-site\r\n");
                Ok(Some(form(&format!("{path}/acs"), self.number, &header, &body)))
            }
            (Connection::OpenIdConnect(_, provider, _), 303) => {
                let request = Authorization::of_url(&started.location);
                let code = format!("code{}x{}", self.number, self.step);
                provider.issue_for(&code, &provider.claims(&request, &self.email, now));
                let path = format!("{path}/callback?{}", request.redirect_with(&provider.issuer, &code));
                let header = format!("{header}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n");
                Ok(Some(browser("GET", &path, self.number, &header, "")))
            }
            (_, 429) => Ok(None),
            _ => Err(format!("sign-in of {}: {started}", self.email)),
        }
    }

    /// Brings a response, perhaps again. It may be accepted once.
    fn bring(&mut self, at: usize, is_new: bool, caller: &mut Caller) -> Result<()> {
        let Some(brought) = self.brought.get_mut(at) else { return Ok(()) };
        let Some(answer) = caller.send(&brought.request) else { return Ok(()) };
        let email = &self.email;
        match answer.status {
            303 if !answer.cookies.is_empty() => {
                brought.accepted += 1;
                if brought.accepted > 1 {
                    return Err(format!("a response to a sign-in of {email} was accepted twice"));
                }
                self.seen.accepted.fetch_add(1, Ordering::Relaxed);
                self.sessions.begin(answer.cookies);
                Ok(())
            }
            401 if !is_new => {
                self.seen.refused_again.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            429 => Ok(()),
            _ => Err(format!("a response to a sign-in of {email}: {} {}", answer.status, answer.location)),
        }
    }

    fn sign_in(&mut self, caller: &mut Caller) -> Result<()> {
        self.signed_in = Some(Instant::now());
        if let Some(request) = self.start(caller)? {
            self.brought.push_front(Brought { request, accepted: 0 });
            self.brought.truncate(KEPT);
            self.bring(0, true, caller)?;
        }
        Ok(())
    }

    /// Reports that the sessions of the user are revoked.
    fn report(&mut self, caller: &mut Caller) -> Result<()> {
        let Connection::OpenIdConnect(_, provider, _) = &self.connection else { return Ok(()) };
        let seconds = SystemEnv::default().now().unix_millis() / 1000;
        let claims = json!({
            "iss": provider.issuer,
            "aud": AUDIENCE,
            "jti": format!("event-{}-{}", self.number, self.step),
            "iat": seconds,
            "toe": seconds,
            "sub_id": provider.subject(&self.email),
            "events": { "https://schemas.openid.net/secevent/caep/event-type/session-revoked": {} },
        });
        self.events.push_front(Event { token: provider.event_token(&claims), at: Instant::now() });
        self.events.truncate(KEPT);
        self.send_event(0, caller)
    }

    /// Sends an event, perhaps again. After the answer the sessions that began before it are ended.
    fn send_event(&mut self, at: usize, caller: &mut Caller) -> Result<()> {
        let Connection::OpenIdConnect(_, _, transmitter) = &self.connection else { return Ok(()) };
        let Some(event) = self.events.get(at) else { return Ok(()) };
        let answer = caller.send(&transmitter.request(&event.token));
        match &answer {
            Some(answer) if answer.status != 202 => Err(format!("an event about {}: {answer}", self.email)),
            answer => {
                let ended = self.sessions.revoke(event.at, answer.is_some());
                self.seen.events.fetch_add(usize::from(answer.is_some()), Ordering::Relaxed);
                self.seen.ended.fetch_add(ended, Ordering::Relaxed);
                Ok(())
            }
        }
    }
}

impl Actor for SingleSignOn {
    fn act(&mut self, caller: &mut Caller) -> Result<()> {
        self.step += 1;
        if self.signed_in.is_none_or(|at| at.elapsed() > BETWEEN_SIGN_INS) {
            return self.sign_in(caller);
        }
        if self.step.is_multiple_of(REPORTED_EVERY) {
            return self.report(caller);
        }
        match self.step % 80 {
            0 => self.sessions.act(self.step, true, caller),
            10 | 50 => self.bring(self.step % KEPT, false, caller),
            30 => self.send_event(self.step % KEPT, caller),
            _ => self.sessions.act(self.step, false, caller),
        }
    }

    fn check(&mut self, caller: &mut Caller) -> Result<()> {
        for at in 0..KEPT {
            self.bring(at, false, caller)?;
            self.send_event(at, caller)?;
        }
        self.sessions.check(caller)
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(60)
    }
}
