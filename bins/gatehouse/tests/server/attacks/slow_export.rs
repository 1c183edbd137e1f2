//! An administrator reads an export as slowly as possible, so that the database must keep everything that changes
//! meanwhile.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use audit::{AuditStore, Entry, Event, events::users::UserUpdated};
use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Browser, Server, Tenant};

const LOG: &str = "/api/settings/audit-log";
const MIB: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(20);

/// Appends entries of 2 KiB.
fn fill(server: &Server, tenant: &Tenant, count: usize) {
    for _ in 0..count / 500 {
        server.write(&tenant.id, async move |ctx, tx| {
            let changed = vec!["a name of something that has changed".to_owned(); 50];
            let event = |n| Event::new(format!("usr_{n}"), &UserUpdated { changed: changed.clone() });
            let entries: Vec<_> = (0..500).map(|n| Entry::new(ctx, event(n))).collect();
            tx.append(&entries).await
        });
    }
}

/// Requests an export and reads only the status.
fn stalled(server: &Server, browser: &Browser) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let (session, sid) = (browser.cookie("authjs.session-token"), browser.cookie("as_sid"));
    write!(
        stream,
        "GET {LOG}/export HTTP/1.1\r\nHost: x\r\nCookie: authjs.session-token={session}; as_sid={sid}\r\n\r\n"
    )
    .unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    stream
}

fn until(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::yield_now();
    }
}

/// Reads the rest and asserts that the connection was cut, so that the client does not take a partial file for the
/// whole.
fn assert_cut(mut stream: TcpStream) {
    let mut rest = Vec::new();
    if let Err(error) = stream.read_to_end(&mut rest) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    assert!(!rest.ends_with(b"\r\n0\r\n\r\n"), "no last chunk");
}

#[test]
fn export_ends_when_its_session_ends() {
    for kind in Kind::ALL {
        let server = Server::start(kind, &[]);
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        fill(&server, &tenant, 8_000);
        let stream = stalled(&server, &admin);
        assert_eq!(admin.post("/api/auth/sign-out", &json!({})).status, 200);
        server.env.advance(Duration::from_millis(100));
        assert_cut(stream);
    }
}

#[test]
fn slow_export_is_ended_and_the_write_ahead_log_shrinks() {
    for kind in Kind::ALL {
        let server = Server::start(kind, &[("audit_export_seconds", "6")]);
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        fill(&server, &tenant, 8_000);
        let stream = stalled(&server, &admin);
        let wal_bytes = || server.pool_metrics().wal_bytes;
        let start = Instant::now();
        while wal_bytes().is_some_and(|bytes| bytes < 10 * MIB) {
            assert!(start.elapsed() < PATIENCE, "it grows: {:?}", wal_bytes());
            fill(&server, &tenant, 1_000);
        }
        let ends = || -> Vec<Value> {
            let page = admin.get(&format!("{LOG}?action=ACCOUNT_AUDIT_LOG_EXPORT_FINISHED")).json();
            page["entries"].as_array().unwrap().iter().map(|entry| entry["metadata"].clone()).collect()
        };
        until("it has ended", || !ends().is_empty());
        let end = &ends()[0];
        assert_eq!(end["outcome"], json!("TIMED_OUT"));
        assert!(end["rows"].as_u64().unwrap() < 8_000, "{end}");
        if kind == Kind::Sqlite {
            until("the write-ahead log is small", || wal_bytes().unwrap() <= 8 * MIB);
        }
        assert_cut(stream);
        // Another export can start.
        assert_eq!(admin.get(&format!("{LOG}/export?action=ACCOUNT_SESSION_STARTED")).status, 200);
    }
}
