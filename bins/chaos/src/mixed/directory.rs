//! An identity provider that creates, disables, enables and deletes users.

use std::collections::BTreeSet;

use xtask::{server::member, sh::Result};

use super::{Actor, client::Caller, sink::Sink};
use crate::clients::{Response, create, get};

/// Number of users that are checked after each round, beside those that the round has changed.
const CHECKED: usize = 20;

/// What a user may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Absent,
    Active,
    Inactive,
}

/// A user as the model knows it.
struct User {
    name: String,
    /// `None` if the answer to its creation was lost.
    id: Option<String>,
    /// The states that it may be in: several after a request whose result is uncertain.
    possible: BTreeSet<State>,
    is_checked: bool,
}

/// An identity provider with its SCIM token.
pub(super) struct Directory {
    token: String,
    number: usize,
    sink: Sink,
    users: Vec<User>,
    step: usize,
}

impl Directory {
    pub(super) fn new(token: &str, number: usize, sink: Sink) -> Self {
        Self { token: token.to_owned(), number, sink, users: Vec::new(), step: 0 }
    }

    fn create(&mut self, caller: &mut Caller) -> Result<()> {
        let name = format!("directory-{}-{}", self.number, self.users.len());
        let answer = caller.send(&create(&self.token, &name));
        let (id, possible) = match &answer {
            Some(Response { status: 201, body, .. }) => {
                let id = member(body, "id")?;
                self.sink.expect(&id);
                (Some(id), [State::Active].into())
            }
            Some(other) => return Err(format!("creating {name}: {other}")),
            None => (None, [State::Absent, State::Active].into()),
        };
        self.users.push(User { name, id, possible, is_checked: false });
        Ok(())
    }

    /// Changes a user, which is `state` afterwards.
    fn change(&mut self, at: usize, state: State, caller: &mut Caller) -> Result<()> {
        let Some(user) = self.users.get_mut(at) else { return Ok(()) };
        let Some(id) = &user.id else { return Ok(()) };
        let (method, body) = match state {
            State::Absent => ("DELETE", String::new()),
            _ => ("PATCH", activation(state == State::Active)),
        };
        let answer = caller.send(&request(&self.token, method, &format!("/{id}"), &body));
        user.is_checked = false;
        match answer.map(|answer| answer.status) {
            Some(200 | 204) if user.possible == [State::Absent].into() => {
                Err(format!("{} was deleted and is changed", user.name))
            }
            Some(200 | 204) => {
                user.possible = [state].into();
                Ok(())
            }
            Some(404) if user.possible.contains(&State::Absent) => {
                user.possible = [State::Absent].into();
                Ok(())
            }
            Some(status) => {
                Err(format!("{method} of {}: {status}, it may be {:?}", user.name, user.possible))
            }
            None => {
                if user.possible != [State::Absent].into() {
                    user.possible.insert(state);
                }
                Ok(())
            }
        }
    }
}

fn activation(active: bool) -> String {
    format!(r#"{{"Operations":[{{"op":"replace","path":"active","value":{active}}}]}}"#)
}

fn request(token: &str, method: &str, path: &str, body: &str) -> String {
    format!(
        "{method} /api/scim/v2/Users{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/scim+json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

impl User {
    /// Returns the state that the server shows, and the ID if there is one.
    fn observe(&self, token: &str, caller: &mut Caller) -> Result<(State, Option<String>)> {
        let path = format!("/api/scim/v2/Users?filter=userName%20eq%20%22{}%22", self.name);
        let answer = caller.ask(&get(token, &path))?;
        let total = |count: u8| answer.body.contains(&format!("\"totalResults\":{count}"));
        match answer.status {
            200 if total(0) => Ok((State::Absent, None)),
            200 if total(1) => {
                let active = answer.body.contains("\"active\":true");
                let state = if active { State::Active } else { State::Inactive };
                Ok((state, Some(member(&answer.body, "id")?)))
            }
            _ => Err(format!("{}: {answer}", self.name)),
        }
    }
}

impl Actor for Directory {
    fn act(&mut self, caller: &mut Caller) -> Result<()> {
        self.step += 1;
        // Any user, but the same ones in each run.
        let at = self.step * 7919 % self.users.len().max(1);
        match self.step % 8 {
            0 => self.change(at, State::Absent, caller),
            1 | 2 => self.change(at, State::Inactive, caller),
            3 => self.change(at, State::Active, caller),
            _ => self.create(caller),
        }
    }

    fn check(&mut self, caller: &mut Caller) -> Result<()> {
        let count = self.users.len();
        for (at, user) in self.users.iter_mut().enumerate() {
            let is_sample = at * CHECKED / count != (at + 1) * CHECKED / count;
            if user.is_checked && !is_sample {
                continue;
            }
            let (state, id) = user.observe(&self.token, caller)?;
            if !user.possible.contains(&state) {
                return Err(format!("{} is {state:?}, not one of {:?}", user.name, user.possible));
            }
            if let (None, Some(id)) = (&user.id, &id) {
                self.sink.expect(id);
            }
            user.id = user.id.take().or(id);
            user.possible = [state].into();
            user.is_checked = true;
        }
        Ok(())
    }
}
