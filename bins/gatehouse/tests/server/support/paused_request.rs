//! A request whose body is delayed.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

use super::{Browser, Server, eventually};

/// A request whose headers the server has read, and whose body it waits for.
pub(crate) struct PausedRequest {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl PausedRequest {
    /// Sends the headers and the first byte of the body, and waits until the server has authenticated the caller.
    pub(crate) fn begin(
        server: &Server,
        method: &str,
        path: &str,
        credential: &str,
        media_type: &str,
        body: &Value,
    ) -> Self {
        let body = body.to_string().into_bytes();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{credential}\r\n\
             Content-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let before = server.env.reads();
        stream.write_all(&[head.as_bytes(), &body[..1]].concat()).unwrap();
        // The server reads the clock three times: for the request ID, the credential's expiry, and the time of the
        // operation.
        eventually(|| server.env.reads() >= before + 3);
        Self { stream, rest: body[1..].to_vec() }
    }

    /// Does the same with a browser's cookies and an optional step-up token.
    pub(crate) fn by(
        server: &Server,
        browser: &Browser,
        step_up: Option<&str>,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Self {
        let cookies = browser.cookies.borrow();
        let pairs: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut credential = format!("Cookie: {}", pairs.join("; "));
        if let Some(token) = step_up {
            credential = format!("{credential}\r\nX-StepUp-Token: {token}");
        }
        Self::begin(server, method, path, &credential, "application/json", body)
    }

    /// Sends the rest of the body. Returns status and body of the response.
    pub(crate) fn finish(mut self) -> (u16, Value) {
        self.stream.write_all(&self.rest).unwrap();
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }
}
