//! An HTTP server on this machine that stores requests and sends configured responses.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use super::{Received, eventually};

/// The receiver. It responds 204, unless the path has another response configured.
#[derive(Clone)]
pub(crate) struct Sink {
    pub(crate) address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    answers: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Sink {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sink = Self { address, received: Arc::default(), answers: Arc::default() };
        let shared = sink.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || while shared.serve(&connection).is_some() {});
            }
        });
        sink
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sets the response to this path.
    pub(crate) fn answers(&self, path: &str, status: u16, more: &str, body: &str) {
        let answer = format!("HTTP/1.1 {status} Test\r\n{more}content-length: {}\r\n\r\n{body}", body.len());
        self.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    /// Returns the requests to this path.
    pub(crate) fn received(&self, path: &str) -> Vec<Received> {
        self.received.lock().unwrap().iter().filter(|one| one.path == path).cloned().collect()
    }

    /// Returns the requests to this path once there are this many.
    pub(crate) fn await_received(&self, path: &str, count: usize) -> Vec<Received> {
        eventually(|| self.received(path).len() >= count);
        self.received(path)
    }

    fn serve(&self, connection: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(connection);
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let path = line.split(' ').nth(1)?.to_owned();
        let mut headers = BTreeMap::new();
        loop {
            line.clear();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").map_or("0", String::as_str);
        let mut body = vec![0; length.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        let answer = self.answers.lock().unwrap().get(&path).cloned();
        self.received.lock().unwrap().push(Received { path, headers, body });
        let answer = answer.unwrap_or_else(|| "HTTP/1.1 204 Thanks\r\n\r\n".into());
        (&*connection).write_all(answer.as_bytes()).ok()
    }
}
