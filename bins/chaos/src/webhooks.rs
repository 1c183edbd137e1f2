//! `cargo xtask chaos webhooks`: checks that no event is lost, and that only events in transit when the worker died
//! are repeated.

use std::{
    collections::HashSet,
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    sync::{PoisonError, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use kernel::Random;
use xtask::{
    cluster::{Cluster, Durability, psql},
    server::{CHEAP, Server, gatehouse, member, person, serve},
    sh::{self, Result},
    wait::until,
};

use crate::{
    clients::{Client, Seen, Stop},
    ordered::{OrderedReceiver, change_groups, create_groups},
    receivers::{Receiver, Victim, report},
    user_load::UserLoad,
};

/// Kills, alternating between the worker and PostgreSQL.
const ROUNDS: usize = 50;
/// Kills in the test command.
const SHORT: usize = 3;
/// One in this many rounds starts when all outcomes are recorded.
const CALM: usize = 4;
/// One in this many rounds waits until another worker takes over the leases of the dead one.
const WAITS: usize = 16;
/// Users created per round.
const EVENTS: usize = 200;
/// Connections that create users.
const WRITERS: usize = 3;
/// Response delay of each receiver; one of them always has a delivery in progress.
const RECEIVERS: [Duration; 3] = [Duration::ZERO, Duration::ZERO, Duration::from_millis(30)];
/// Maximum time until another worker takes over the leases of a dead one.
const LEASE: Duration = Duration::from_secs(10);
/// Selects deliveries to the receivers of events about users.
const OF_RECEIVERS: &str =
    " WHERE subscription_id IN (SELECT id FROM webhook_subscriptions WHERE name LIKE 'r%')";
/// Time limit for delivering everything in the end.
const DRAIN: Duration = Duration::from_secs(150);

/// Runs all rounds. `seed`: repeats the timing of another run; `program`: of another build, which is not built first.
pub(crate) fn run(seed: Option<u64>, program: Option<&str>) -> Result<()> {
    let built = sh::built("gatehouse");
    all(ROUNDS, seed, program.map_or(built, PathBuf::from))
}

/// Runs the short form with the program that the tests have built.
pub(crate) fn short() -> Result<()> {
    all(SHORT, None, sh::built("gatehouse"))
}

fn all(rounds: usize, seed: Option<u64>, program: PathBuf) -> Result<()> {
    let seed = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish() % 1_000_000);
    let folder = std::env::temp_dir().join(format!("gatehouse-chaos-{}-webhooks", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let done = Setup::new(program, &folder).and_then(|mut setup| setup.run_rounds(rounds, Random::new(seed)));
    done.map_err(|problem| {
        format!("webhooks, seed {seed}: {problem}; the servers' log is in {}", folder.display())
    })?;
    println!("webhooks: seed {seed}, {:.1} minutes", start.elapsed().as_secs_f64() / 60.0);
    let _removed = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// The servers, their database and the receivers. Fields are dropped in order, so the worker ends first.
struct Setup {
    worker: Option<Server>,
    api: Server,
    token: String,
    receivers: Vec<Receiver>,
    ordered: OrderedReceiver,
    groups: Vec<String>,
    program: PathBuf,
    folder: PathBuf,
    /// The first user, Ada, created before any receiver subscribes.
    known: String,
    /// Durations of the rounds that waited for a lease.
    waited: Vec<Duration>,
    cluster: Cluster,
}

impl Setup {
    fn new(program: PathBuf, folder: &Path) -> Result<Self> {
        let cluster = Cluster::start(Durability::Full)?;
        let run = |words: &[&str]| gatehouse(&program, &cluster.url(), words);
        run(&["migrate"])?;
        run(&["tenant", "create", "--slug", "chaos", "--name", "Chaos"])?;
        person(&program, &cluster.url(), CHEAP, "chaos", "ada@chaos.example", "four tall blue towers")?;
        let whose = ["--tenant", "chaos", "--email", "ada@chaos.example"];
        run(&[&["user", "role"], &whose[..], &["--role", "ADMIN"]].concat())?;
        let pat = ["token", "pat", "--name", "chaos", "--scopes", "admin:tenant"];
        let pat = member(&run(&[&pat[..], &whose].concat())?, "token")?;
        let token = member(&run(&["token", "scim", "--tenant", "chaos", "--name", "chaos"])?, "token")?;
        let known = ask(&cluster, "SELECT id FROM users")?;
        let api = start(&program, &cluster, folder, "api")?;
        let receivers: Vec<_> = RECEIVERS.into_iter().map(Receiver::start).collect::<Result<_>>()?;
        for (number, receiver) in receivers.iter().enumerate() {
            let settings = r#""eventFilters":["ACCOUNT_USER_CREATED"]"#;
            subscribe(api.address, &pat, &format!("r{number}"), receiver.address, settings)?;
        }
        let groups = create_groups(api.address, &token)?;
        let ordered = OrderedReceiver::start()?;
        let settings = r#""eventFilters":["ACCOUNT_GROUP_*"],"ordered":true"#;
        subscribe(api.address, &pat, "ordered", ordered.address, settings)?;
        let (folder, waited) = (folder.to_owned(), Vec::new());
        let worker = None;
        let mut setup =
            Self { worker, api, token, receivers, ordered, groups, program, folder, known, waited, cluster };
        setup.start_worker()?;
        Ok(setup)
    }

    fn start_worker(&mut self) -> Result<()> {
        self.worker = Some(start(&self.program, &self.cluster, &self.folder, "worker")?);
        Ok(())
    }

    fn run_rounds(&mut self, rounds: usize, mut random: Random) -> Result<()> {
        let user_load = UserLoad::default();
        let (address, token, groups) = (self.api.address, self.token.clone(), self.groups.clone());
        thread::scope(|scope| {
            let _stop = Stop(&user_load.seen);
            for writer in 0..WRITERS {
                let (user_load, token) = (&user_load, &token);
                scope.spawn(move || user_load.write(address, token, writer));
            }
            let (user_load, groups, token) = (&user_load, &groups, &token);
            scope.spawn(move || change_groups(address, token, groups, &user_load.seen));
            for round in 0..rounds {
                if round.is_multiple_of(CALM) {
                    self.calm(user_load)?;
                }
                user_load.allow(EVENTS);
                thread::sleep(Duration::from_millis(50 + random.below(651)));
                let outcome =
                    if round % 2 == 1 { self.kill_database() } else { self.kill_worker(user_load, round) };
                outcome.map_err(|problem| format!("round {}: {problem}", round + 1))?;
            }
            until(DRAIN, "not all users are created", || Ok(user_load.is_done()))
        })?;
        self.check(rounds, &user_load.seen)
    }

    /// Waits until the worker has delivered what it can deliver soon, and has recorded the outcomes.
    fn calm(&self, user_load: &UserLoad) -> Result<()> {
        let prompt = RECEIVERS.iter().enumerate().filter(|(_, thinks)| thinks.is_zero());
        let prompt: Vec<_> = prompt.map(|(number, _)| number).collect();
        until(DRAIN, "the worker is not done", || {
            let mut is_calm = user_load.is_done();
            for number in &prompt {
                is_calm = is_calm && self.waiting(*number)?.is_empty();
            }
            Ok(is_calm)
        })
    }

    /// Returns the events that have no outcome in the database for this receiver.
    fn waiting(&self, receiver: usize) -> Result<HashSet<String>> {
        let query = format!(
            "SELECT DISTINCT event_id FROM webhook_deliveries WHERE due_at IS NOT NULL AND subscription_id = \
             (SELECT id FROM webhook_subscriptions WHERE name = 'r{receiver}')"
        );
        Ok(ask(&self.cluster, &query)?.lines().map(str::to_owned).collect())
    }

    fn kill_database(&mut self) -> Result<()> {
        self.cluster.kill();
        self.cluster.start_again()?;
        self.note(Victim::Database)
    }

    fn kill_worker(&mut self, user_load: &UserLoad, round: usize) -> Result<()> {
        let worker = self.worker.take().ok_or("no worker")?;
        TcpStream::connect(worker.address).map_err(|error| format!("the worker ended by itself: {error}"))?;
        worker.kill();
        let killed = Instant::now();
        self.receivers.iter().try_for_each(Receiver::await_disconnects)?;
        self.note(if round.is_multiple_of(CALM) { Victim::Worker } else { Victim::BusyWorker })?;
        let is_waited_for = round % WAITS == WAITS * 3 / 4;
        if !is_waited_for {
            // Expire the leases by hand, as an operator may who knows that the worker is dead. Otherwise each round
            // would take ten seconds.
            ask(&self.cluster, "UPDATE webhook_queues SET lease_until = now() AT TIME ZONE 'utc'")?;
        }
        let before: Vec<_> = self.receivers.iter().map(Receiver::requests).collect();
        self.start_worker()?;
        if is_waited_for {
            user_load.allow(EVENTS);
            let is_delivered =
                || self.receivers.iter().zip(&before).all(|(now, before)| now.requests() > *before);
            until(LEASE, "the leases of the dead worker were not taken over", || Ok(is_delivered()))?;
            self.waited.push(killed.elapsed());
        }
        Ok(())
    }

    /// Allows repetition of events that the receivers have but whose outcome is not in the database.
    fn note(&self, victim: Victim) -> Result<()> {
        for (number, receiver) in self.receivers.iter().enumerate() {
            receiver.killed(victim, &self.waiting(number)?);
        }
        Ok(())
    }

    /// Describes up to five deliveries that have no outcome.
    fn left(&self) -> Result<String> {
        let query = "SELECT name, event_id, attempt, subject, due_at FROM webhook_deliveries \
                     JOIN webhook_subscriptions ON webhook_subscriptions.id = subscription_id \
                     WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 5";
        Ok(ask(&self.cluster, query)?.lines().collect::<Vec<_>>().join("; "))
    }

    fn check(&self, rounds: usize, seen: &Seen) -> Result<()> {
        let wrong = seen.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = wrong.first() {
            return Err(format!("{} wrong answers, the first {first}", wrong.len()));
        }
        let start = Instant::now();
        let count =
            |what: &str| ask(&self.cluster, &format!("SELECT count(*) FROM webhook_deliveries{what}"));
        until(DRAIN, "deliveries without an outcome are left", || {
            Ok(count(" WHERE due_at IS NOT NULL")? == "0")
        })
        .map_err(|problem| format!("{problem}: {}", self.left().unwrap_or_else(|error| error)))?;
        let events = "SELECT count(DISTINCT event_id) FROM webhook_deliveries WHERE subscription_id = \
                      (SELECT id FROM webhook_subscriptions WHERE name = 'ordered')";
        let events = ask(&self.cluster, events)?.parse().map_err(|error| format!("{error}"))?;
        self.ordered.check(events)?;
        let count = |what: &str| count(&format!("{OF_RECEIVERS}{what}"));
        let drained = start.elapsed();
        let failed = count(" AND (attempt <> 1 OR http_status IS DISTINCT FROM 200)")?;
        if failed != "0" {
            return Err(format!("{failed} attempts were retries or failed"));
        }
        let people = ask(&self.cluster, "SELECT id FROM users")?;
        let people: HashSet<&str> = people.lines().filter(|id| *id != self.known).collect();
        let created = seen.created.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lost) = created.iter().find(|id| !people.contains(id.as_str())) {
            return Err(format!("{lost} was answered with 201 and is missing"));
        }
        let rows = count("")?;
        if rows != (people.len() * self.receivers.len()).to_string() {
            return Err(format!("{rows} deliveries for {} users", people.len()));
        }
        let mut requests = 0;
        for (number, receiver) in self.receivers.iter().enumerate() {
            requests += receiver.check(&people).map_err(|problem| format!("r{number}: {problem}"))?;
        }
        println!(
            "{rounds} rounds: {} acknowledged, {} refused (503), {} exist; {rows} deliveries in {requests} requests, the last {:.0} s after the last change; leases waited for: {:.0?}",
            created.len(),
            seen.refused.load(Ordering::Relaxed),
            people.len(),
            drained.as_secs_f64(),
            self.waited
        );
        report(&self.receivers)
    }
}

fn start(program: &Path, cluster: &Cluster, folder: &Path, role: &str) -> Result<Server> {
    let log = File::options().create(true).append(true).open(folder.join("log"));
    let mut command = serve(program, &cluster.url(), folder);
    command.env("GATEHOUSE_ROLE", role).env("GATEHOUSE_LOG_LEVEL", "warn");
    // The receivers are on this machine, which tenants' webhooks may not address by default.
    command.env("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8").env("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true");
    Server::start(command.stderr(log.map_err(|error| error.to_string())?))
}

fn subscribe(api: SocketAddr, pat: &str, name: &str, to: SocketAddr, settings: &str) -> Result<()> {
    let body = format!(r#"{{"name":"{name}","url":"http://{to}/",{settings}}}"#);
    let request = format!(
        "POST /api/settings/webhooks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {pat}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    match Client::new(api).send(&request).map_err(|error| error.to_string())? {
        (200, _) => Ok(()),
        (status, answer) => Err(format!("creating a webhook answers {status}: {answer}")),
    }
}

/// Runs a query with PostgreSQL's own client.
fn ask(cluster: &Cluster, query: &str) -> Result<String> {
    psql(&cluster.url(), &[query])
}
