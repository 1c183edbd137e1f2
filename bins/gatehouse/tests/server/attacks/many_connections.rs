//! An attacker opens connections and keeps them. Other clients must still be able to connect.

use std::{io::Write, net::Ipv4Addr};

use store::testing::Kind;

use super::sockets::{address, ask, begin, has_ended, open, read_to_end};
use crate::support::{Caller, Process, Server, eventually};

const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

#[test]
fn one_address_keeps_only_its_share_of_connections() {
    // One HTTP worker thread, so that connections are accepted in order.
    let settings = [("max_connections_per_address", "8"), ("workers", "1")];
    let server = Server::start(Kind::Sqlite, &settings);
    let mut idle: Vec<_> = (0..20).map(|_| open(address(1), server.address)).collect();
    eventually(|| idle.iter().filter(|one| has_ended(one)).count() == 12);
    for one in &mut idle[..12] {
        assert_eq!(read_to_end(one), "", "the longest idle connections are closed");
    }
    for one in &mut idle[12..] {
        one.write_all(HEALTH).unwrap();
    }
    eventually(|| idle[12..].iter().all(has_ended));
    let last = HEALTH.strip_suffix(b"\r\n").unwrap();
    let last = [last, b"Connection: close\r\n\r\n"].concat();
    assert!(ask(Ipv4Addr::LOCALHOST, server.address, &last).starts_with("HTTP/1.1 200"));
    assert!(ask(address(2), server.address, &last).starts_with("HTTP/1.1 200"));
}

#[test]
fn connection_with_a_running_request_is_kept() {
    let process = Process::on(Kind::Sqlite, &[("GATEHOUSE_MAX_CONNECTIONS_PER_ADDRESS", "8")]);
    process.json(&["migrate"]);
    let server = process.serve();
    let begun = b"POST /api/auth/sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
        Content-Length: 100\r\n\r\n{";
    let at_work: Vec<_> = (0..8).map(|_| begin(address(1), server.address, begun)).collect();
    let anybody = Caller::anonymous(server.address);
    eventually(|| anybody.get("/metrics").text.contains("gatehouse_http_bodies_waiting 8\n"));
    let mut ninth = open(address(1), server.address);
    assert_eq!(read_to_end(&mut ninth), "", "the new connection is closed");
    assert!(!at_work.iter().any(has_ended));
    let closed = "gatehouse_http_connections_closed_total{reason=\"address\"} 1\n";
    assert!(anybody.get("/metrics").text.contains(closed));
}

#[test]
fn connections_leave_file_descriptors_for_everything_else() {
    let process = Process::on(Kind::Sqlite, &[]);
    process.json(&["migrate"]);
    // Few enough files that the total limit applies before the limit per address.
    let server = process.serve_with_files(1024);
    let idle: Vec<_> = (0..600).map(|number| open(address(number % 3), server.address)).collect();
    // Until the server has closed enough connections, file descriptors of closed ones may still be open.
    let most = (1024 - 512) / 2;
    eventually(|| idle.iter().filter(|one| has_ended(one)).count() >= idle.len() - most);
    for _ in 0..5 {
        let last = b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        let answer = ask(Ipv4Addr::LOCALHOST, server.address, last);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}
