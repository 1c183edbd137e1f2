//! Webhook receivers on loopback that record what arrived and when.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Builder,
};
use xtask::sh::Result;

/// Behavior of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Responds at once.
    Prompt,
    /// Refuses events about groups with 503, and accepts others at once.
    RefusesGroups,
    /// Responds after ten seconds.
    Slow,
    /// Sends one byte of its response per second, forever.
    Dripping,
    /// Responds with two gigabytes.
    Huge,
}

/// A receiver. It ends with the process.
#[derive(Clone)]
pub(crate) struct Sink {
    pub(crate) address: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    count: AtomicU64,
    /// Time of the first event about each resource.
    first: Mutex<HashMap<String, Instant>>,
}

impl Sink {
    pub(crate) fn start(manner: Manner) -> Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let seen = Arc::new(Seen::default());
        let noted = Arc::clone(&seen);
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
        std::thread::spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, Arc::clone(&noted), manner));
                }
            });
        });
        Ok(Self { address, seen })
    }

    /// Returns the number of requests so far.
    pub(crate) fn count(&self) -> u64 {
        self.seen.count.load(Ordering::Acquire)
    }

    /// Returns when the first event about this resource arrived.
    pub(crate) fn came(&self, resource: &str) -> Option<Instant> {
        self.seen.first.lock().unwrap_or_else(PoisonError::into_inner).get(resource).copied()
    }
}

async fn serve(mut stream: TcpStream, seen: Arc<Seen>, manner: Manner) {
    let _quick = stream.set_nodelay(true);
    let (mut buffer, mut filled) = (vec![0; 16 * 1024], 0);
    loop {
        let Some(room) = buffer.get_mut(filled..) else { return };
        match stream.read(room).await {
            Ok(0) | Err(_) => return,
            Ok(read) => filled += read,
        }
        while let Some(length) = whole(buffer.get(..filled).unwrap_or_default()) {
            let request = buffer.get(..length).unwrap_or_default();
            note(&seen, request);
            let is_of_group = request.windows(GROUP.len()).any(|some| some == GROUP);
            if answer(&mut stream, manner, is_of_group).await.is_err() {
                return;
            }
            buffer.copy_within(length..filled, 0);
            filled -= length;
        }
    }
}

/// Returns the length of the first request, once it is complete.
fn whole(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let length: usize = header(head, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    (bytes.len() >= end + length).then_some(end + length)
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn note(seen: &Seen, request: &[u8]) {
    let now = Instant::now();
    let text = String::from_utf8_lossy(request);
    if let Some((_, rest)) = text.split_once("\"resource\":{\"type\":\"user\",\"id\":\"") {
        let id = rest.split('"').next().unwrap_or_default().to_owned();
        seen.first.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_insert(now);
    }
    seen.count.fetch_add(1, Ordering::Release);
}

/// The part of an event that says that it is about a group.
const GROUP: &[u8] = br#""resource":{"type":"group""#;

async fn answer(stream: &mut TcpStream, manner: Manner, is_of_group: bool) -> std::io::Result<()> {
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    match manner {
        Manner::RefusesGroups if is_of_group => {
            stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n").await
        }
        Manner::Prompt | Manner::RefusesGroups => stream.write_all(OK).await,
        Manner::Slow => {
            tokio::time::sleep(Duration::from_secs(10)).await;
            stream.write_all(OK).await
        }
        Manner::Dripping => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").await?;
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                stream.write_all(b"x").await?;
            }
        }
        Manner::Huge => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2147483648\r\n\r\n").await?;
            let some = vec![b'x'; 64 * 1024];
            for _ in 0..32_768 {
                stream.write_all(&some).await?;
            }
            Ok(())
        }
    }
}
