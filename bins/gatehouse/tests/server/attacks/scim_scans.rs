//! One SCIM token sends searches that cannot use an index, to delay reads of all tenants.

use std::{
    io::Write,
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Answer, Caller, Process, Running, ada};

const USERS: &str = "/api/scim/v2/Users";
const SEARCH: &str = "/api/scim/v2/Users/.search";
/// Users of the attacker. The most expensive accepted search takes much longer on them than its deadline.
const MANY: usize = 8_000;
const PATIENCE: Duration = Duration::from_secs(20);

/// A server with two tenants, one of which attacks.
struct Scene {
    /// Kept for its `Drop`.
    _process: Process,
    server: Running,
    attacker: Caller,
    token: String,
    neighbour: Caller,
    /// A user of the other tenant.
    user: String,
}

impl Scene {
    fn on(kind: Kind) -> Self {
        let process = Process::on(kind, &[("GATEHOUSE_WORKERS", "2")]);
        let (token, neighbours) = (process.tenant("attacker"), process.tenant("neighbour"));
        let server = process.serve();
        let anybody = Caller::anonymous(server.address);
        let (attacker, neighbour) = (anybody.bearer(&token), anybody.bearer(&neighbours));
        let user = neighbour.post(USERS, &ada()).json()["id"].as_str().unwrap().to_owned();
        let phones: Vec<_> =
            (0..100).map(|n| json!({ "value": format!("{n:0100}"), "type": "work" })).collect();
        let heavy = json!({ "userName": "heavy", "phoneNumbers": phones });
        assert_eq!(attacker.post(USERS, &heavy).status, 201);
        process.copy_heavy_user(MANY);
        Self { _process: process, server, attacker, token, neighbour, user: format!("{USERS}/{user}") }
    }

    /// Returns the value of a metric, by name and labels.
    fn metric(&self, name: &str) -> u64 {
        let text = Caller::anonymous(self.server.address).get("/metrics").text;
        let line =
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
        line.unwrap_or_else(|| panic!("{name} is not in\n{text}")).parse().unwrap()
    }

    fn running(&self) -> u64 {
        self.metric("gatehouse_database_scans_running")
    }

    fn ended(&self, outcome: &str) -> u64 {
        self.metric(&format!("gatehouse_database_scans_total{{outcome=\"{outcome}\"}}"))
    }

    /// Sends a search without waiting for its response.
    fn begin(&self) -> TcpStream {
        let body = search().to_string();
        let mut stream = TcpStream::connect(self.server.address).unwrap();
        write!(
            stream,
            "POST {SEARCH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        )
        .unwrap();
        stream
    }

    /// Runs an attack while the other tenant repeatedly reads one user. Every read must succeed.
    fn assert_neighbour_served<T>(&self, attack: impl FnOnce() -> T) -> T {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reads = scope.spawn(|| {
                let mut times = Vec::new();
                while !over.load(Ordering::Relaxed) || times.len() < 20 {
                    times.push(self.read());
                }
                times
            });
            let done = attack();
            over.store(true, Ordering::Relaxed);
            let times = reads.join().unwrap();
            println!("{} reads of the neighbour, p99 {:?}", times.len(), p99(times));
            done
        })
    }

    /// Returns how long the other tenant's read of one user takes.
    fn read(&self) -> Duration {
        let start = Instant::now();
        let answer = self.neighbour.get(&self.user);
        assert_eq!(answer.status, 200, "{}", answer.text);
        start.elapsed()
    }
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// Returns the most expensive accepted search: no value matches, so each is compared with each text.
fn search() -> Value {
    let terms: Vec<_> = (0..16).map(|n| format!(r#"phoneNumbers[value co "x{n}"]"#)).collect();
    json!({ "filter": terms.join(" or ") })
}

fn until(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::yield_now();
    }
}

fn on_both(test: impl Fn(&Scene)) {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        test(&Scene::on(kind));
    }
}

#[test]
fn filter_with_too_many_comparisons_is_refused_before_running() {
    let process = Process::on(Kind::Sqlite, &[]);
    let token = process.tenant("attacker");
    let server = process.serve();
    let terms: Vec<_> = (0..32).map(|n| format!(r#"emails[value co "x{n}" or type co "y{n}"]"#)).collect();
    let answer = Caller::anonymous(server.address)
        .bearer(&token)
        .post(SEARCH, &json!({ "filter": terms.join(" or ") }));
    assert_eq!((answer.status, answer.json()["scimType"].clone()), (400, json!("invalidFilter")));
    assert!(answer.json()["detail"].as_str().unwrap().contains("more than 16"), "{}", answer.text);
}

#[test]
fn search_past_its_deadline_is_stopped_and_says_what_is_indexed() {
    on_both(|scene| {
        let start = Instant::now();
        let answer = scene.assert_neighbour_served(|| scene.attacker.post(SEARCH, &search()));
        let took = start.elapsed();
        assert_eq!(
            (answer.status, answer.json()["scimType"].clone()),
            (400, json!("tooMany")),
            "{}",
            answer.text
        );
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("userName") && detail.contains("emails.value"), "{detail}");
        assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(6), "{took:?}");
        until("the database has stopped", || scene.running() == 0);
        assert_eq!(scene.ended("too_long"), 1);
        // The connection is usable afterwards.
        let found = scene.attacker.get(&format!("{USERS}?filter=userName+co+%22heavy7%22&count=0"));
        assert_eq!(found.status, 200, "{}", found.text);
        assert!(found.json()["totalResults"].as_u64().unwrap() > 1_000);
    });
}

#[test]
fn third_concurrent_search_of_a_tenant_is_refused_after_waiting_a_second() {
    on_both(|scene| {
        let calm = (0..500).map(|_| scene.read()).collect();
        println!("without an attack p99 {:?}", p99(calm));
        let answers: Vec<Answer> = scene.assert_neighbour_served(|| {
            std::thread::scope(|scope| {
                let all: Vec<_> =
                    (0..9).map(|_| scope.spawn(|| scene.attacker.post(SEARCH, &search()))).collect();
                all.into_iter().map(|one| one.join().unwrap()).collect()
            })
        });
        let with = |status: u16| answers.iter().filter(move |answer| answer.status == status);
        assert_eq!(with(400).count() + with(429).count(), 9, "{answers:?}");
        assert_eq!(with(400).count(), 2, "two run");
        assert!(with(429).all(|answer| answer.header("retry-after") == "1"));
        assert!(with(400).all(|answer| answer.json()["scimType"] == "tooMany"));
    });
}

#[test]
fn search_ends_when_its_client_is_gone() {
    on_both(|scene| {
        scene.assert_neighbour_served(|| {
            let all: Vec<_> = (0..9).map(|_| scene.begin()).collect();
            until("two run", || scene.running() == 2);
            let start = Instant::now();
            drop(all);
            // Queued searches may still get a turn before they are dropped.
            let waiting = || scene.metric("gatehouse_database_waiting{for=\"scan\"}");
            until("none runs or waits", || scene.running() + waiting() == 0);
            assert!(
                start.elapsed() < Duration::from_millis(1_500),
                "before its deadline: {:?}",
                start.elapsed()
            );
        });
        assert!(scene.ended("abandoned") >= 2);
        assert_eq!(scene.ended("too_long"), 0);
        // No turn is lost.
        let found = scene.attacker.get(&format!("{USERS}?filter=userName+co+%22heavy7%22&count=0"));
        assert_eq!(found.status, 200, "{}", found.text);
    });
}
