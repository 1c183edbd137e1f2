//! Scripted receivers that control every byte.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use crate::support::{Proof, RECEIVER, server};

/// A step of a receiver's script. It plays all steps on each connection, then closes it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// Reads one request, head and body.
    Read,
    /// Reads the head of a request, but not its body.
    ReadHead,
    /// Sends this text.
    Send(&'static str),
    /// Responds with a body of this length.
    Answer(usize),
    /// Sends this text repeatedly, as fast as possible.
    Forever(&'static str),
    /// Sends this text repeatedly, one byte every 20 ms.
    Drip(&'static str),
    /// Stays idle without closing.
    Hang,
    /// Responds to every request and keeps the connection open.
    Serve,
}

/// A local receiver that listens until it is dropped.
pub(crate) struct Receiver {
    address: SocketAddr,
    is_secure: bool,
    accepted: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Receiver {
    pub(crate) async fn plain(steps: &'static [Step]) -> Self {
        Self::start("127.0.0.1:0", None, steps).await
    }

    pub(crate) async fn plain_on(address: &str, steps: &'static [Step]) -> Self {
        Self::start(address, None, steps).await
    }

    pub(crate) async fn tls(proof: Proof, steps: &'static [Step]) -> Self {
        Self::start("127.0.0.1:0", Some(server(proof).into()), steps).await
    }

    async fn start(address: &str, tls: Option<TlsAcceptor>, steps: &'static [Step]) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (count, heard, is_secure) = (Arc::clone(&accepted), Arc::clone(&requests), tls.is_some());
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (tls, heard) = (tls.clone(), Arc::clone(&heard));
                connections.spawn(async move {
                    match tls {
                        None => play(stream, steps, &heard).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => play(stream, steps, &heard).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        Self { address, is_secure, accepted, requests, task }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{RECEIVER}:{}/hook?a=b", self.port())
    }

    /// Returns the number of accepted connections.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Returns the requests received, byte for byte.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Plays the script; `None` if the peer disconnects.
async fn play(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    steps: &[Step],
    heard: &Mutex<Vec<String>>,
) -> Option<()> {
    for step in steps {
        match step {
            Step::Read => keep(heard, read(&mut stream).await?),
            Step::ReadHead => {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.ok()?);
                }
            }
            Step::Answer(length) => {
                let text =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(*length));
                stream.write_all(text.as_bytes()).await.ok()?;
            }
            Step::Send(text) => stream.write_all(text.as_bytes()).await.ok()?,
            Step::Forever(text) => {
                let many = text.repeat(1 + 16 * 1024 / text.len());
                while stream.write_all(many.as_bytes()).await.is_ok() {}
                return None;
            }
            Step::Drip(text) => {
                for byte in text.bytes().cycle() {
                    stream.write_all(&[byte]).await.ok()?;
                    stream.flush().await.ok()?;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            Step::Hang => std::future::pending().await,
            Step::Serve => loop {
                keep(heard, read(&mut stream).await?);
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.ok()?;
                stream.flush().await.ok()?;
            },
        }
        stream.flush().await.ok()?;
    }
    stream.shutdown().await.ok()
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text);
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn keep(heard: &Mutex<Vec<String>>, request: String) {
    heard.lock().unwrap().push(request);
}
