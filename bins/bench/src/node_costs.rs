//! What requests cost on a distributed database: CPU time of each program, and the statements that the coordinator sends.

use std::{collections::HashSet, path::Path, time::Duration};

use xtask::{
    citus::Nodes,
    cluster::{Durability, psql},
    server::{CHEAP, Server, gatehouse, member, person},
    sh::Result,
};

use crate::{
    auth::{sign_in, with_cookies},
    cpu,
    figures::Area,
    folder::Folder,
    load,
    site::{create_named, get},
    stepup,
    table::Table,
};

const WORKERS: usize = 2;
const CLIENTS: usize = 12;
const TIME: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_secs(2);
/// Users who sign in with a password, and as many with an authenticator app.
const PEOPLE: usize = 200;
const PASSWORD: &str = "a password that is long enough";

/// Count statements, and keep the records of two-phase commits, which Citus otherwise deletes every minute.
const COUNTING: [&str; 3] = [
    "ALTER SYSTEM SET citus.enable_stat_counters = on",
    "ALTER SYSTEM SET citus.recover_2pc_interval = -1",
    "SELECT pg_reload_conf()",
];
/// The number of statements that ran on one shard, and on several.
const STATEMENTS: &str = "SELECT query_execution_single_shard || ' ' || query_execution_multi_shard \
    FROM citus_stat_counters WHERE name = current_database()";
/// Transactions that were prepared on a node, to be committed in two phases.
const PREPARED: &str = "SELECT gid FROM pg_dist_transaction";

/// What the coordinator has counted so far.
struct Counts {
    on_one_shard: f64,
    on_several: f64,
    prepared: HashSet<String>,
}

impl Counts {
    fn read(url: &str) -> Result<Self> {
        let statements = psql(url, &[STATEMENTS])?;
        let mut numbers = statements.split(' ').map(|number| number.parse().unwrap_or(f64::NAN));
        let mut next = || numbers.next().unwrap_or(f64::NAN);
        let (on_one_shard, on_several) = (next(), next());
        let prepared = psql(url, &[PREPARED])?.lines().map(str::to_owned).collect();
        Ok(Self { on_one_shard, on_several, prepared })
    }
}

/// A server on a coordinator and workers. Fields are dropped in order, so the server ends first.
struct DistributedSite {
    area: Area,
    server: Server,
    url: String,
    nodes: Nodes,
}

/// Prints a table of operations. No statement of a request may run on several shards, and no transaction may commit in
/// two phases.
pub(crate) fn run(area: Area, program: &Path) -> Result<()> {
    let nodes = Nodes::start(WORKERS, Durability::Steady)?;
    psql(&nodes.coordinator.url(), &COUNTING)?;
    let url = nodes.database("costs")?;
    gatehouse(program, &url, &["migrate", "--distribute"])?;
    let folder = Folder::new("node-costs")?;
    let (server, people) = stepup::prepare(program, &url, &folder, PEOPLE)?;
    let site = DistributedSite { area, server, url, nodes };
    let minted = gatehouse(program, &site.url, &["token", "scim", "--tenant", "bench", "--name", "bench"])?;
    let token = member(&minted, "token")?;
    let email = |number: usize| format!("plain-{number}@example.com");
    for number in 0..PEOPLE {
        person(program, &site.url, CHEAP, "bench", &email(number), PASSWORD)?;
    }
    println!("\n| | per operation: | | | | in total: | |");
    println!("|---|---|---|---|---|---|---|");
    println!(
        "| operation | server µs | coordinator µs | workers µs | statements on one shard | statements on several | prepared transactions |"
    );
    let address = site.server.address;
    let (status, body) = load::once(address, &create_named("cost-lookup", &token))?;
    let user = member(&body, "id").map_err(|_| format!("a create answers {status}: {body}"))?;
    let load = |time: Duration, expected: u16, request: &load::Request<'_>| {
        let run = load::run(address, CLIENTS, time, expected, request)?;
        if run.unexpected > 0 { Err(run.refused()) } else { Ok(run.answers) }
    };
    let create = |number: u64| create_named(&format!("cost-{number}"), &token);
    site.measure("create a user", |is_warm| load(time(is_warm), 201, &create))?;
    let by_id = get(&format!("/api/scim/v2/Users/{user}"), &token);
    site.measure("get by ID", |is_warm| load(time(is_warm), 200, &|_| by_id.clone()))?;
    let me = with_cookies("/api/me", people.first().map(|one| one.cookies.as_str()).unwrap_or_default());
    site.measure("GET /api/me", |is_warm| load(time(is_warm), 200, &|_| me.clone()))?;
    site.measure("sign in", |is_warm| {
        let from = if is_warm { 20_000 } else { 10_000 };
        let all: Vec<_> =
            (0..PEOPLE).map(|number| sign_in(&email(number), PASSWORD, from + number)).collect();
        let (run, answers) = load::each(address, CLIENTS, &all)?;
        let refused = answers.iter().find(|answer| answer.status != 200);
        refused.map_or(Ok(run.answers), |answer| Err(answer.text()))
    })?;
    stepup::await_codes();
    site.measure("step up: challenge, proof, use", |is_warm| {
        stepup::round(&site.server, None, &people, &mut Table::new())?;
        if !is_warm {
            stepup::await_codes();
        }
        Ok(people.len() as u64)
    })
}

fn time(is_warm: bool) -> Duration {
    if is_warm { TIME } else { WARM_UP }
}

impl DistributedSite {
    fn seconds(&self) -> [f64; 3] {
        let workers = self.nodes.workers.iter().map(|worker| cpu::seconds(worker.pid())).sum();
        [cpu::seconds(self.server.pid()), cpu::seconds(self.nodes.coordinator.pid()), workers]
    }

    /// Runs operations twice, the first time to prepare statements on each connection, and prints what each operation of
    /// the second run costs. `run` learns whether the connections are warm, and returns the number of operations.
    fn measure(&self, name: &str, run: impl Fn(bool) -> Result<u64>) -> Result<()> {
        run(false)?;
        let (before, counted) = (self.seconds(), Counts::read(&self.url)?);
        let done = run(true)? as f64;
        let (after, count) = (self.seconds(), Counts::read(&self.url)?);
        let mut micros = after;
        for (micros, before) in micros.iter_mut().zip(before) {
            *micros = (*micros - before) * 1e6 / done;
        }
        let [server, coordinator, workers] = micros;
        let on_one = (count.on_one_shard - counted.on_one_shard) / done;
        if on_one <= 0.0 {
            return Err(format!("{name}: the coordinator has counted no statement"));
        }
        let on_several = count.on_several - counted.on_several;
        let prepared = count.prepared.difference(&counted.prepared).count();
        println!(
            "| {name} | {server:.0} | {coordinator:.0} | {workers:.0} | {on_one:.1} | {on_several:.0} | {prepared} |"
        );
        self.area.at_most(format!("statements on several shards, {name}"), on_several, "", 0.0);
        self.area.at_most(format!("prepared transactions, {name}"), prepared as f64, "", 0.0);
        Ok(())
    }
}
