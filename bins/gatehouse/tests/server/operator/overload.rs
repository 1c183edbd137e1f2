//! More load than the server can handle.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::json;
use store::testing::Kind;

use crate::support::{Caller, Process, ada};

const USERS: &str = "/api/scim/v2/Users";
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the value of a metric, by name and labels.
fn metric_value(anybody: &Caller, name: &str) -> f64 {
    let text = anybody.get("/metrics").text;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    line.unwrap_or_else(|| panic!("{name} is not in\n{text}")).parse().unwrap()
}

/// Locks the users table until it is dropped.
struct Lock(Child);

impl Lock {
    fn on(process: &Process) -> Self {
        let mut psql = Command::new("psql");
        psql.args(["-qAt", &process.database_url()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut psql = psql.spawn().unwrap();
        let mut input = psql.stdin.take().unwrap();
        input.write_all(b"BEGIN; LOCK TABLE users;\n\\echo locked\n").unwrap();
        let mut first_line = String::new();
        BufReader::new(psql.stdout.as_mut().unwrap()).read_line(&mut first_line).unwrap();
        assert_eq!(first_line, "locked\n");
        psql.stdin = Some(input);
        Self(psql)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ended = self.0.wait();
    }
}

#[test]
fn excess_requests_are_refused_at_once_and_probes_are_answered() {
    let process = Process::on(Kind::Postgres, &[("GATEHOUSE_MAX_IN_FLIGHT", "1")]);
    let token = process.tenant("acme");
    let server = process.serve();
    let anybody = Caller::anonymous(server.address);
    let scim = anybody.bearer(&token);
    let lock = Lock::on(&process);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| scim.post(USERS, &ada()));
        super::until("the slot is taken", PATIENCE, || {
            metric_value(&anybody, "gatehouse_http_requests_working") >= 1.0
        });
        let refused = scim.get(USERS);
        assert_eq!((refused.status, refused.header("retry-after")), (503, "1"));
        assert_eq!(refused.json()["status"], json!("503"), "a SCIM error");
        assert_eq!(anybody.get("/healthz").status, 200);
        assert_eq!(anybody.get("/readyz").status, 200);
        assert!(metric_value(&anybody, "gatehouse_http_requests_refused_total") >= 1.0);
        drop(lock);
        assert_eq!(slow.join().unwrap().status, 201, "admitted requests are answered");
    });
    assert_eq!(scim.get(USERS).status, 200);
}

#[test]
fn slow_bodies_do_not_block_others_and_are_limited_per_address() {
    let bounds = [("GATEHOUSE_MAX_IN_FLIGHT", "4"), ("GATEHOUSE_MAX_BODIES_PER_ADDRESS", "16")];
    let process = Process::on(Kind::Sqlite, &bounds);
    let token = process.tenant("acme");
    let server = process.serve();
    let anybody = Caller::anonymous(server.address);
    let begin = || {
        let mut stream = TcpStream::connect(server.address).unwrap();
        write!(
            stream,
            "POST {USERS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{{"
        )
        .unwrap();
        stream
    };
    let mut slow = Vec::new();
    for number in 1..=16 {
        slow.push(begin());
        super::until("it waits for its body", PATIENCE, || {
            metric_value(&anybody, "gatehouse_http_requests_in_flight") >= f64::from(number) + 1.0
        });
    }
    assert_eq!(anybody.bearer(&token).get(USERS).status, 200);
    let mut answer = String::new();
    BufReader::new(begin()).read_line(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 429"), "one address is limited: {answer}");
    super::until("the waiting bodies are counted", PATIENCE, || {
        metric_value(&anybody, "gatehouse_http_bodies_waiting") >= 16.0
    });
    assert!(metric_value(&anybody, "gatehouse_http_bodies_refused_total{reason=\"address\"}") >= 1.0);
    drop(slow);
}

#[test]
fn requests_waiting_for_the_database_are_in_the_metrics() {
    let process =
        Process::on(Kind::Postgres, &[("GATEHOUSE_DATABASE_POOL", "1"), ("GATEHOUSE_WORKERS", "1")]);
    let token = process.tenant("acme");
    let server = process.serve();
    let anybody = Caller::anonymous(server.address);
    let scim = anybody.bearer(&token);
    let lock = Lock::on(&process);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..3).map(|_| scope.spawn(|| scim.get(USERS))).collect();
        super::until("two wait for the one connection", PATIENCE, || {
            metric_value(&anybody, "gatehouse_database_waiting{for=\"connection\"}") >= 2.0
        });
        assert!(metric_value(&anybody, "gatehouse_database_oldest_wait_seconds{for=\"connection\"}") > 0.0);
        super::until("the connection is open", PATIENCE, || {
            metric_value(&anybody, "gatehouse_database_connections{state=\"busy\"}") >= 1.0
        });
        drop(lock);
        for one in all {
            assert_eq!(one.join().unwrap().status, 200);
        }
    });
}
