//! More than the server can bear.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::json;
use store::{DatabaseUrl, testing::Kind};

use crate::support::{Server, ada};

const USERS: &str = "/api/scim/v2/Users";

/// Holds the users' table until it is dropped.
struct Lock(Child);

impl Lock {
    fn on(server: &Server) -> Self {
        let DatabaseUrl::Postgres(url) = server.database_url() else { panic!("not on PostgreSQL") };
        let mut psql = Command::new("psql");
        psql.args(["-qAt", url]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut psql = psql.spawn().unwrap();
        let mut input = psql.stdin.take().unwrap();
        input.write_all(b"BEGIN; LOCK TABLE users;\n\\echo held\n").unwrap();
        let mut said = String::new();
        BufReader::new(psql.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n");
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
fn what_is_too_much_is_refused_at_once_and_probes_are_not() {
    let server = Server::start(Kind::Postgres, &[("max_in_flight", "1")]);
    let tenant = server.tenant("acme");
    let lock = Lock::on(&server);
    std::thread::scope(|scope| {
        let held = scope.spawn(|| tenant.scim.post(USERS, &ada()));
        let anybody = server.anonymous();
        super::until("the slot is taken", Duration::from_secs(2), || {
            // The one that asks, and the one that waits.
            anybody.get("/metrics").text.contains("gatehouse_http_requests_in_flight 2")
        });
        let refused = tenant.scim.get(USERS);
        assert_eq!((refused.status, refused.header("retry-after")), (503, "1"));
        assert_eq!(refused.json()["status"], json!("503"), "in SCIM's shape");
        assert_eq!(anybody.get("/healthz").status, 200);
        assert_eq!(anybody.get("/readyz").status, 200);
        let figures = anybody.get("/metrics").text;
        assert!(!figures.contains("gatehouse_http_requests_refused_total 0"), "{figures}");
        drop(lock);
        assert_eq!(held.join().unwrap().status, 201, "what was admitted is answered");
    });
    assert_eq!(tenant.scim.get(USERS).status, 200);
}

#[test]
fn slow_bodies_keep_nobody_out() {
    let server = Server::start(Kind::Sqlite, &[("max_in_flight", "2")]);
    let tenant = server.tenant("acme");
    let slow: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            let (token, kind) = (&tenant.token, "application/json");
            write!(
                stream,
                "POST {USERS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
                 Content-Type: {kind}\r\nContent-Length: 1000000\r\n\r\n{{"
            )
            .unwrap();
            stream
        })
        .collect();
    super::until("all have begun", Duration::from_secs(5), || {
        server.anonymous().get("/metrics").text.contains("gatehouse_http_requests_in_flight 51")
    });
    assert_eq!(tenant.scim.get(USERS).status, 200);
    drop(slow);
}

#[test]
fn what_waits_for_the_database_is_seen() {
    let server = Server::start(Kind::Postgres, &[("database_pool", "1"), ("workers", "1")]);
    let tenant = server.tenant("acme");
    let lock = Lock::on(&server);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..3).map(|_| scope.spawn(|| tenant.scim.get(USERS))).collect();
        let figure = |name: &str| {
            let text = server.anonymous().get("/metrics").text;
            let line = text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            line.unwrap_or_else(|| panic!("{name} is not in\n{text}")).trim().parse::<f64>().unwrap()
        };
        super::until("two wait for the one connection", Duration::from_secs(2), || {
            figure("gatehouse_database_waiting{for=\"connection\"}") >= 2.0
        });
        assert!(figure("gatehouse_database_oldest_wait_seconds{for=\"connection\"}") > 0.0);
        super::until("the connection is open", Duration::from_secs(2), || {
            figure("gatehouse_database_connections{state=\"busy\"}") >= 1.0
        });
        drop(lock);
        for one in all {
            assert_eq!(one.join().unwrap().status, 200);
        }
    });
}
