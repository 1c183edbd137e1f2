//! Malformed and hostile HTTP: no 5xx response, no hang, no request smuggling.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use store::testing::Kind;

use crate::support::{Caller, Process, Server};

const USERS: &str = "/api/scim/v2/Users";
/// Maximum time until the server refuses or closes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends bytes and reads until the server closes. Fails if the server neither responds nor closes.
fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may refuse and close before it has read everything.
    let _refused = stream.write_all(bytes);
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => answer.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("it hangs"),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

fn answers(text: &str) -> Vec<&str> {
    text.match_indices("HTTP/1.").map(|(at, _)| text[at..].lines().next().unwrap()).collect()
}

/// Returns requests whose length two servers interpret differently, and other attempts at request smuggling.
fn smuggled(token: &str) -> Vec<(&'static str, String)> {
    let hidden = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let common = format!("Host: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json");
    let behind =
        |head: &str, body: &str| format!("POST {USERS} HTTP/1.1\r\n{common}\r\n{head}\r\n\r\n{body}{hidden}");
    let whole = format!("Content-Length: {}", 5 + hidden.len());
    let chunked = "Transfer-Encoding: chunked";
    vec![
        ("length and chunks", behind(&format!("{whole}\r\n{chunked}"), "0\r\n\r\n")),
        ("chunks and length", behind(&format!("{chunked}\r\n{whole}"), "0\r\n\r\n")),
        ("two lengths", behind(&format!("Content-Length: 0\r\n{whole}"), "12345")),
        ("two lengths in one", behind(&format!("Content-Length: 0, {}", 5 + hidden.len()), "12345")),
        ("a length with a sign", behind(&format!("Content-Length: +{}", 5 + hidden.len()), "12345")),
        ("a length that overflows", behind("Content-Length: 18446744073709551616", "")),
        ("a negative length", behind("Content-Length: -1", "")),
        ("a length in hexadecimal", behind("Content-Length: 0x5", "12345")),
        ("chunks twice", behind(&format!("{chunked}\r\n{chunked}\r\n{whole}"), "0\r\n\r\n")),
        (
            "chunks, then not",
            behind(&format!("Transfer-Encoding: chunked, identity\r\n{whole}"), "0\r\n\r\n"),
        ),
        ("chunks misspelt", behind(&format!("Transfer-Encoding: xchunked\r\n{whole}"), "0\r\n\r\n")),
        ("chunks with a tab", behind(&format!("Transfer-Encoding:\tchunked\r\n{whole}"), "0\r\n\r\n")),
        ("a space before the colon", behind(&format!("Transfer-Encoding : chunked\r\n{whole}"), "0\r\n\r\n")),
        ("a folded header", behind(&format!("X: y\r\n {chunked}\r\n{whole}"), "0\r\n\r\n")),
        (
            "chunks in HTTP/1.0",
            format!("POST {USERS} HTTP/1.0\r\n{common}\r\n{chunked}\r\n{whole}\r\n\r\n0\r\n\r\n{hidden}"),
        ),
    ]
}

#[test]
fn request_smuggling_is_prevented() {
    let server = Server::start(Kind::Sqlite, &[]);
    for (what, bytes) in smuggled(&server.tenant("acme").token) {
        let received = raw(server.address, bytes.as_bytes());
        assert!(
            !received.contains("\"status\":\"ok\""),
            "{what}: the hidden request was answered: {received}"
        );
        assert!(answers(&received).len() <= 1, "{what}: {received}");
        assert!(answers(&received).iter().all(|line| line.contains(" 4")), "{what}: {received}");
    }
    assert_eq!(server.anonymous().get("/healthz").status, 200);
}

#[test]
fn malformed_requests_are_refused() {
    let server = Server::start(Kind::Sqlite, &[]);
    let get = |head: &str| format!("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}\r\n\r\n");
    let many = "X: y\r\n".repeat(10_000);
    let chunks = |body: &str| {
        format!(
            "POST {USERS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
        )
    };
    for (what, bytes) in [
        ("a megabyte of one header", get(&format!("X: {}", "a".repeat(1 << 20)))),
        ("ten thousand headers", get(many.trim_end())),
        ("a megabyte of address", format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(1 << 20))),
        ("a NUL in a header", get("X: a\0b")),
        ("a bare carriage return", get("X: a\rb")),
        ("no name of a header", get(": y")),
        ("a name with a space", get("X Y: z")),
        ("no version", "GET /healthz\r\n\r\n".to_owned()),
        ("a version that is none", "GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n".to_owned()),
        ("no address", "GET HTTP/1.1\r\nHost: x\r\n\r\n".to_owned()),
        ("a method of brackets", "(GET) / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned()),
        ("a TLS greeting", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}\r\n\r\n".to_owned()),
        ("a preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
        ("a chunk that overflows", chunks("ffffffffffffffffff\r\nx")),
        ("a chunk that is no number", chunks("zz\r\nx\r\n0\r\n\r\n")),
        ("a chunk that is longer than it says", chunks("1\r\nxyz\r\n0\r\n\r\n")),
    ] {
        let received = raw(server.address, bytes.as_bytes());
        assert!(answers(&received).iter().all(|line| line.contains(" 4")), "{what}: {received:.300}");
    }
    assert_eq!(server.anonymous().get("/healthz").status, 200);
}

#[test]
fn unsupported_methods_and_request_forms_are_refused() {
    let server = Server::start(Kind::Sqlite, &[]);
    for (line, expected) in [
        (format!("TRACE {USERS} HTTP/1.1"), 405),
        (format!("trace {USERS} HTTP/1.1"), 405),
        ("CONNECT example.com:443 HTTP/1.1".into(), 404),
        ("OPTIONS * HTTP/1.1".into(), 404),
        (format!("OPTIONS {USERS} HTTP/1.1"), 405),
        (format!("PROPFIND {USERS} HTTP/1.1"), 405),
        ("GET /../../etc/passwd HTTP/1.1".into(), 404),
        ("GET /api/scim/v2/%2e%2e/%2e%2e/etc/passwd HTTP/1.1".into(), 404),
        ("GET /%00 HTTP/1.1".into(), 404),
        ("GET /%zz HTTP/1.1".into(), 404),
        ("GET /healthz%20 HTTP/1.1".into(), 404),
        (format!("GET {USERS}/%ff%fe HTTP/1.1"), 401),
        ("GET http://elsewhere.example/healthz HTTP/1.1".into(), 200),
    ] {
        let received = raw(
            server.address,
            format!("{line}\r\nHost: x\r\nX-Secret: mine\r\nConnection: close\r\n\r\n").as_bytes(),
        );
        assert!(received.starts_with(&format!("HTTP/1.1 {expected}")), "{line}: {received}");
        assert!(!received.contains("mine"), "{line} gives back what was sent: {received}");
    }
}

fn resident_kib(pid: u32) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap().to_owned();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn thousand_slow_clients_are_closed_and_do_not_block_others() {
    let process = Process::on(Kind::Sqlite, &[]);
    let token = process.tenant("acme");
    let server = process.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    assert_eq!(scim.get(USERS).status, 200);
    let before = resident_kib(server.child.id());
    let mut slow: Vec<_> = (0..1000)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.set_nonblocking(true).unwrap();
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ").unwrap();
            stream
        })
        .collect();
    let start = Instant::now();
    let (mut worst, mut most) = (Duration::ZERO, before);
    // Each client sends a byte from time to time, as long as the server allows it.
    while !slow.is_empty() {
        assert!(start.elapsed() < Duration::from_secs(40), "{} are still there", slow.len());
        slow.retain_mut(|stream| {
            let mut buffer = [0; 512];
            match stream.read(&mut buffer) {
                Ok(0) => false,
                Ok(length) => {
                    let received = String::from_utf8_lossy(&buffer[..length]).into_owned();
                    assert!(received.starts_with("HTTP/1.1 408"), "{received}");
                    false
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    stream.write_all(b"a").is_ok()
                }
                Err(_) => false,
            }
        });
        let asked = Instant::now();
        assert_eq!(scim.get(USERS).status, 200);
        worst = worst.max(asked.elapsed());
        most = most.max(resident_kib(server.child.id()));
    }
    assert!(start.elapsed() > Duration::from_secs(5), "the clients were slow");
    assert!(worst < Duration::from_secs(1), "others waited {worst:?}");
    assert!(most - before < 64 * 1024, "{} KiB for a thousand connections", most - before);
}
