//! A test browser that keeps cookies and sends JSON.

use std::{cell::RefCell, collections::BTreeMap, net::SocketAddr};

use actix_web::cookie::time::Duration;
use serde_json::{Value, json};

use super::{Answer, Caller};

/// Keeps received cookies and sends them back.
#[derive(Clone)]
pub(crate) struct Browser {
    caller: Caller,
    pub(crate) cookies: RefCell<BTreeMap<String, String>>,
}

impl Browser {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { caller: Caller::anonymous(address), cookies: RefCell::default() }
    }

    /// Returns the browser with a header added to every request.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        Self { caller: self.caller.with(name, value), cookies: self.cookies.clone() }
    }

    /// Returns the browser with the same cookies for another server.
    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        Self { caller: Caller::anonymous(address), cookies: self.cookies.clone() }
    }

    pub(crate) fn cookie(&self, name: &str) -> String {
        self.cookies.borrow().get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn set(&self, name: &str, value: &str) {
        self.cookies.borrow_mut().insert(name.into(), value.into());
    }

    pub(crate) fn drop_cookie(&self, name: &str) {
        self.cookies.borrow_mut().remove(name);
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let text = body.map(Value::to_string).unwrap_or_default();
        self.raw(method, path, body.map(|_| "application/json"), &text)
    }

    /// Sends a raw body.
    pub(crate) fn raw(&self, method: &str, path: &str, kind: Option<&str>, text: &str) -> Answer {
        let pairs: Vec<_> =
            self.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let caller = if pairs.is_empty() {
            self.caller.clone()
        } else {
            self.caller.with("Cookie", &pairs.join("; "))
        };
        let answer = caller.send(method, path, kind, text);
        self.keep(&answer);
        answer
    }

    /// Sends a form.
    pub(crate) fn form(&self, path: &str, form: &str) -> Answer {
        let pairs: Vec<_> =
            self.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let caller = self.caller.with("Cookie", &pairs.join("; "));
        let answer = caller.send("POST", path, Some("application/x-www-form-urlencoded"), form);
        self.keep(&answer);
        answer
    }

    fn keep(&self, answer: &Answer) {
        for cookie in answer.cookies() {
            if cookie.max_age().is_some_and(Duration::is_zero) {
                self.drop_cookie(cookie.name());
            } else {
                self.set(cookie.name(), cookie.value());
            }
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(body))
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, Some(body))
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None)
    }

    /// Sends the first step of a sign-in.
    pub(crate) fn sign_in(&self, email: &str, password: &str) -> Answer {
        self.post("/api/auth/sign-in", &json!({ "email": email, "password": password }))
    }

    /// Sends the second step of a sign-in.
    pub(crate) fn verify(&self, ticket: &Value, factor: &str, code: &str) -> Answer {
        self.post("/api/auth/sign-in/verify", &json!({ "ticket": ticket, "factor": factor, "code": code }))
    }
}
