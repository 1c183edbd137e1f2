//! Attackers start bodies and never finish them. This must not affect other clients.

use std::{
    io::Write,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use directory::Role;
use serde_json::json;
use store::testing::Kind;

use super::sockets::{address, ask, begin, has_ended, read_to_end};
use crate::support::{Caller, ORIGIN, PASSWORD, Process, Server, eventually};

const USERS: &str = "/api/scim/v2/Users";
/// Maximum unfinished bodies per address.
const WAITING: usize = 64;

/// A sign-in that announces a body and sends one byte of it.
const BEGUN: &[u8] = b"POST /api/auth/sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
    Content-Length: 100\r\n\r\n{";

fn sign_in(from: Ipv4Addr, to: SocketAddr, email: &str) -> String {
    let body = json!({ "email": email, "password": PASSWORD }).to_string();
    let head = format!(
        "POST /api/auth/sign-in HTTP/1.1\r\nHost: x\r\nOrigin: {ORIGIN}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    ask(from, to, format!("{head}{body}").as_bytes())
}

fn create(from: Ipv4Addr, to: SocketAddr, token: &str, name: &str, padding: usize) -> String {
    let body = json!({ "userName": name }).to_string() + &" ".repeat(padding);
    let head = format!(
        "POST {USERS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Type: application/scim+json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    ask(from, to, format!("{head}{body}").as_bytes())
}

/// Returns the value of a metric, by name and labels.
fn metric(address: SocketAddr, name: &str) -> f64 {
    let text = Caller::anonymous(address).get("/metrics").text;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    line.unwrap_or_else(|| panic!("{name} is not in\n{text}")).parse().unwrap()
}

/// Starts a server with the default number of slots for two processors, on each database.
fn each_database(settings: &[(&str, &str)], test: impl Fn(&Server)) {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        test(&Server::start(kind, &[&[("max_in_flight", "128")], settings].concat()));
    }
}

#[test]
fn unfinished_bodies_of_one_address_do_not_block_others_sign_in() {
    each_database(&[], |server| {
        let tenant = server.tenant("acme");
        let person = server.person(&tenant, "ada@example.com", Role::Member);
        let slow: Vec<_> = (0..520).map(|_| begin(address(1), server.address, BEGUN)).collect();
        eventually(|| slow.iter().filter(|one| has_ended(one)).count() >= 520 - WAITING);
        for number in 0..5 {
            let answer = sign_in(Ipv4Addr::LOCALHOST, server.address, &person.email);
            assert!(answer.contains("SIGNED_IN"), "sign-in {number}: {answer}");
            let name = format!("user-{number}");
            let answer = create(Ipv4Addr::LOCALHOST, server.address, &tenant.token, &name, 100_000);
            assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        }
        // Unfinished requests are ended, too: the server waits at most 5 s for the body of a sign-in.
        let start = Instant::now();
        let mut refused = 0;
        for mut one in slow {
            let answer = read_to_end(&mut one);
            if answer.starts_with("HTTP/1.1 429") {
                assert!(answer.contains("retry-after: 5") && answer.contains("RATE_LIMITED"), "{answer}");
                refused += 1;
            } else {
                assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
                assert!(answer.contains("did not arrive in time"), "{answer}");
            }
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        assert!(refused >= 520 - 3 * WAITING, "{refused} were refused");
    });
}

#[test]
fn unfinished_bodies_of_200_addresses_do_not_get_others_refused() {
    // 8 MiB allow 512 unfinished bodies, fewer than the attack has.
    each_database(&[("max_body_memory_mib", "8")], |server| {
        let tenant = server.tenant("acme");
        let person = server.person(&tenant, "ada@example.com", Role::Member);
        let slow: Vec<_> =
            (0..800).map(|number| begin(address(number % 200), server.address, BEGUN)).collect();
        eventually(|| slow.iter().any(has_ended));
        for number in 0..5 {
            let answer = sign_in(Ipv4Addr::LOCALHOST, server.address, &person.email);
            assert!(answer.contains("SIGNED_IN"), "sign-in {number}: {answer}");
            let name = format!("user-{number}");
            // Less than a fair share of the memory: 8 MiB divided by 201 addresses.
            let answer = create(Ipv4Addr::LOCALHOST, server.address, &tenant.token, &name, 20_000);
            assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        }
        let mut gave_way = slow.into_iter().find(has_ended).unwrap();
        let answer = read_to_end(&mut gave_way);
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after"), "{answer}");
    });
}

#[test]
fn unfinished_bodies_stay_within_the_memory_limit() {
    let process = Process::on(Kind::Sqlite, &[]);
    let token = process.tenant("acme");
    let server = process.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    assert_eq!(scim.get(USERS).status, 200);
    let before = resident_kib(server.child.id());
    let head = format!(
        "POST {USERS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 1048576\r\n\r\n"
    );
    let half = [head.as_bytes(), &vec![b' '; 1024 * 1024 - 1]].concat();
    let (mut most, mut slow) = (before, Vec::new());
    for number in 0..120 {
        slow.push(begin(address(number % 10), server.address, &half));
        most = most.max(resident_kib(server.child.id()));
    }
    // The last bodies may still be in transit.
    let refused = "gatehouse_http_bodies_refused_total{reason=\"memory\"}";
    eventually(|| metric(server.address, refused) >= 1.0);
    assert!(metric(server.address, "gatehouse_http_bodies_bytes") <= 64.0 * 1024.0 * 1024.0);
    let grown = (most - before) / 1024;
    println!("120 half-sent bodies of 1 MiB: {grown} MiB more");
    assert!(grown < 120, "{grown} MiB");
    let answer = create(Ipv4Addr::LOCALHOST, server.address, &token, "honest", 1_000_000);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[test]
fn clients_of_one_ipv6_network_count_as_one_address() {
    let settings = [("trusted_proxies", "127.0.0.0/8"), ("max_bodies_per_address", "4")];
    let server = Server::start(Kind::Sqlite, &settings);
    let begun = |client: &str| {
        let text = String::from_utf8(BEGUN.to_vec()).unwrap();
        let text = text.replace("Host: x", &format!("Host: x\r\nX-Forwarded-For: {client}"));
        begin(Ipv4Addr::LOCALHOST, server.address, text.as_bytes())
    };
    let same: Vec<_> = (0..6).map(|number| begun(&format!("2001:db8::{number}:1"))).collect();
    let other = begun("2001:db8:0:1::1");
    eventually(|| same.iter().filter(|one| has_ended(one)).count() == 2);
    assert!(!has_ended(&other));
    for mut one in same.into_iter().filter(has_ended) {
        assert!(read_to_end(&mut one).starts_with("HTTP/1.1 429"));
    }
}

#[test]
fn sign_in_accepts_only_small_bodies() {
    each_database(&[], |server| {
        let large = json!({ "email": "a@example.com", "password": "p".repeat(16 * 1024) });
        let caller = server.anonymous().with("Origin", ORIGIN);
        let send = |path: &str, body: &str| caller.send("POST", path, Some("application/json"), body);
        let answer = send("/api/auth/sign-in", &large.to_string());
        assert_eq!((answer.status, &answer.json()["code"]), (413, &json!("PAYLOAD_TOO_LARGE")));
        let padded = json!({ "email": "a@example.com", "password": "p" }).to_string();
        let fits = format!("{padded}{}", " ".repeat(16 * 1024 - padded.len()));
        assert_eq!(send("/api/auth/sign-in", &fits).status, 401);
        assert_eq!(send("/api/auth/sign-in", &format!("{fits} ")).status, 413);
    });
}

/// Sends chunks until the server closes the connection. Returns how long that took.
fn chunks_without_end(mut stream: TcpStream) -> Duration {
    let start = Instant::now();
    while stream.write_all(b"400\r\n").and_then(|()| stream.write_all(&[b' '; 1024])).is_ok() {
        if stream.write_all(b"\r\n").is_err() {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "the server never stops reading");
    }
    start.elapsed()
}

#[test]
fn endless_body_is_cut_off() {
    let server = Server::start(Kind::Sqlite, &[]);
    let token = server.tenant("acme").token;
    for (method, path, status) in [
        ("POST", "/api/nothing", "404"),
        ("POST", "/api/auth/sign-in", "413"),
        ("POST", USERS, "413"),
        ("DELETE", "/api/scim/v2/Users/x", "404"),
    ] {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        let stream = begin(address(1), server.address, head.as_bytes());
        let mut reader = stream.try_clone().unwrap();
        let took = chunks_without_end(stream);
        println!("{method} {path}: closed after {took:?}");
        // The response may be lost with the connection, because the client keeps sending.
        let mut answer = Vec::new();
        let _reset = std::io::Read::read_to_end(&mut reader, &mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
    assert_eq!(server.anonymous().get("/healthz").status, 200);
}

fn resident_kib(pid: u32) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap().to_owned();
    line.split_whitespace().next().unwrap().parse().unwrap()
}
