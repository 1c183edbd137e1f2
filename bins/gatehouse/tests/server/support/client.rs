//! HTTP clients and responses.

use std::net::SocketAddr;

use actix_web::cookie::Cookie;
use serde_json::Value;
use ureq::{Agent, http};

/// A client that sends fixed headers with every request.
#[derive(Clone)]
pub(crate) struct Caller {
    agent: Agent,
    address: SocketAddr,
    headers: Vec<(String, String)>,
}

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Vec<u8>,
}

impl Caller {
    pub(crate) fn anonymous(address: SocketAddr) -> Self {
        let config = Agent::config_builder().http_status_as_error(false).max_redirects(0).proxy(None);
        Self { agent: config.build().into(), address, headers: Vec::new() }
    }

    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut caller = self.clone();
        caller.headers.push((name.into(), value.into()));
        caller
    }

    /// Returns the client for another instance.
    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        Self { address, ..self.clone() }
    }

    pub(crate) fn bearer(&self, token: &str) -> Self {
        self.with("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None, "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some("application/scim+json"), &body.to_string())
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, Some("application/scim+json"), &body.to_string())
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, Some("application/scim+json"), &body.to_string())
    }

    /// Sends a PATCH with these operations.
    pub(crate) fn operations(&self, path: &str, operations: &Value) -> Answer {
        let schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"];
        self.patch(path, &serde_json::json!({ "schemas": schemas, "Operations": operations }))
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None, "")
    }

    pub(crate) fn send(&self, method: &str, path: &str, content_type: Option<&str>, body: &str) -> Answer {
        self.try_send(method, path, content_type, body).expect("an answer")
    }

    /// Sends a request to a server that may not answer.
    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: &str,
    ) -> Result<Answer, ureq::Error> {
        let mut request =
            http::Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(content_type) = content_type {
            request = request.header("Content-Type", content_type);
        }
        let request = request.body(body.to_owned()).expect("a well-formed request");
        let config = self.agent.configure_request(request).allow_non_standard_methods(true);
        let mut response = self.agent.run(config.build())?;
        let body = response.body_mut().read_to_vec()?;
        // Pictures are not text.
        let text = String::from_utf8_lossy(&body).into_owned();
        Ok(Answer { status: response.status().as_u16(), headers: response.headers().clone(), text, body })
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the cookies of the response.
    pub(crate) fn cookies(&self) -> Vec<Cookie<'static>> {
        let lines = self.headers.get_all("set-cookie").iter();
        lines.map(|line| Cookie::parse(line.to_str().unwrap().to_owned()).unwrap()).collect()
    }

    /// Returns the attributes of a cookie, sorted because their order has no meaning.
    pub(crate) fn cookie_attributes(&self, name_starts_with: &str) -> String {
        let cookies = self.cookies();
        let cookie = cookies.iter().find(|cookie| cookie.name().starts_with(name_starts_with)).unwrap();
        let flag = |is_set: Option<bool>, name| if is_set == Some(true) { name } else { "" };
        format!(
            "Path={}; Max-Age={}{}; SameSite={}{}",
            cookie.path().unwrap(),
            cookie.max_age().unwrap().whole_seconds(),
            flag(cookie.http_only(), "; HttpOnly"),
            cookie.same_site().unwrap(),
            flag(cookie.secure(), "; Secure"),
        )
    }

    /// Returns status and body without values that differ between runs, for snapshots.
    pub(crate) fn shown(&self) -> String {
        format!("{} {}", self.status, redact(&self.text))
    }
}

/// Replaces IDs, times and addresses by `[…]`.
fn redact(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    let marks = ["usr_", "grp_", "http://localhost", "\"20"];
    while let Some(at) = marks.iter().filter_map(|mark| rest.find(mark)).min() {
        let (before, found) = rest.split_at(at);
        shown.push_str(before);
        let (skip, name) = match found.as_bytes()[0] {
            b'u' | b'g' => (30, "[id]"),
            b'h' => (found.find("/api").unwrap(), "[base]"),
            _ if found.as_bytes().get(5) == Some(&b'-') => (26, "[time]"),
            _ => (1, "\""),
        };
        shown.push_str(name);
        rest = &found[skip..];
    }
    shown + rest
}
