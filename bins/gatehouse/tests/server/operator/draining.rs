//! Graceful shutdown: no client in progress is affected.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use serde_json::json;
use store::testing::Kind;

use crate::support::{Caller, Process};

const PUBLIC: &str = "/api/developers/events.json";

/// Drain time, long enough for all checks on a busy machine.
const DRAIN: Duration = Duration::from_secs(4);

/// Sends a request on a connection and reads the head of the response; `None` if the connection is closed.
fn ask(stream: &mut TcpStream, path: &str) -> Option<String> {
    write!(stream, "HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\n").ok()?;
    head(stream)
}

fn head(stream: &mut TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8(head).unwrap())
}

/// Sends requests on new connections until the server stops listening, and counts the responses.
fn visitors(address: SocketAddr, answered: &AtomicUsize) {
    loop {
        match TcpStream::connect(address) {
            // Reset: the listener was closed during the handshake.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                assert!(TcpStream::connect(address).is_err(), "refused while the server still listened");
                return;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "the port is closed");
                return;
            }
            Ok(mut stream) => {
                let head = ask(&mut stream, "/api/developers/openapi.json");
                // A connection that the kernel accepted at the moment of closing, but the server did not, is reset.
                let Some(head) = head else {
                    assert!(TcpStream::connect(address).is_err(), "refused while the server still listened");
                    return;
                };
                assert!(head.starts_with("HTTP/1.1 405"), "{head}");
                answered.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[test]
fn clients_in_progress_are_served_during_shutdown() {
    for kind in Kind::ALL {
        let process = Process::on(kind, &[("GATEHOUSE_DRAIN_SECONDS", "4")]);
        let token = process.tenant("acme");
        let mut server = process.serve();
        let address = server.address;
        let caller = Caller::anonymous(address);
        let mut kept = TcpStream::connect(address).unwrap();
        assert!(!ask(&mut kept, "/healthz").unwrap().to_lowercase().contains("connection: close"));
        // A change whose body is still in transit when the server is asked to stop.
        let body = json!({ "userName": "late" }).to_string();
        let mut late = TcpStream::connect(address).unwrap();
        write!(
            late,
            "POST /api/scim/v2/Users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/scim+json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .unwrap();
        let answered = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..2).map(|_| scope.spawn(|| visitors(address, &answered))).collect();
            super::until("visitors come", Duration::from_secs(30), || answered.load(Ordering::Relaxed) > 20);
            let started = Instant::now();
            server.ask_to_end();
            super::until("it is not ready", DRAIN, || caller.get("/readyz").status == 503);
            assert_eq!(caller.get("/readyz").json()["status"], "draining");
            assert_eq!(caller.get("/healthz").status, 200);
            let answer = caller.get(PUBLIC);
            assert_eq!((answer.status, answer.header("connection")), (200, "close"));
            assert!(started.elapsed() < DRAIN, "the server still drains");
            // The kept-alive connection gets one more response, with `Connection: close`.
            assert!(ask(&mut kept, "/healthz").unwrap().to_lowercase().contains("connection: close"));
            for visitor in all {
                visitor.join().unwrap();
            }
            assert!(started.elapsed() >= DRAIN, "the server accepts requests until the drain period ends");
        });
        assert!(server.child.try_wait().unwrap().is_none(), "the server waits for the running request");
        assert!(!server.log().contains("ERROR"), "{}", server.log());
        late.write_all(body.as_bytes()).unwrap();
        assert!(head(&mut late).unwrap().starts_with("HTTP/1.1 201"));
        assert_eq!(server.child.wait().unwrap().code(), Some(0), "{}", server.log());
    }
}

#[test]
fn idle_connections_do_not_delay_shutdown() {
    let process = Process::on(Kind::Sqlite, &[("GATEHOUSE_DRAIN_SECONDS", "0")]);
    process.tenant("acme");
    let mut server = process.serve();
    let mut idle = TcpStream::connect(server.address).unwrap();
    ask(&mut idle, "/healthz").unwrap();
    let (code, took) = server.terminate();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert_eq!(head(&mut idle), None, "the idle connection is closed");
}

#[test]
fn second_signal_skips_the_remaining_drain_time() {
    let process = Process::on(Kind::Sqlite, &[("GATEHOUSE_DRAIN_SECONDS", "60")]);
    process.tenant("acme");
    let mut server = process.serve();
    server.ask_to_end();
    let caller = Caller::anonymous(server.address);
    super::until("it drains", Duration::from_secs(30), || caller.get("/readyz").status == 503);
    let (code, took) = server.terminate();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(30), "{took:?}");
}
