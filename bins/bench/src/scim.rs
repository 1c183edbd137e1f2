//! `cargo xtask bench scim`: 100,000 users in one tenant, 1,000 other tenants, on both databases.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use xtask::{
    cluster::{Cluster, Durability},
    server::{MASTER_KEY, Server},
    sh::{self, Result},
    system,
};

use crate::{
    build, cpu,
    figures::{Area, Target},
    folder::Folder,
    load,
    peer::Peer,
    site::{Site, get, request, sql},
    table::{Table, column_median, render, wanted},
};

const AREA: Area = Area("scim");
const ROUNDS: usize = 3;
const TIME: Duration = Duration::from_secs(2);
/// Users in the large tenant.
const USERS: u64 = 100_000;
/// Number of other tenants.
const OTHERS: u64 = 1_000;

/// A kind of request: number, name, number of connections, expected status, request.
type Probe<'a> = (&'static str, &'static str, usize, u16, Box<load::Request<'a>>);

pub(crate) fn run(rows: &[&str]) -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    let program = build::gatehouse()?;
    let (handlers, seeder) = (build::example("store", "floor")?, build::example("store", "seed")?);
    let cluster = Cluster::start(Durability::Steady)?;
    let folder = Folder::new("scim")?;
    let sqlite = format!("sqlite:{}", folder.join("bench.db").display());

    let mut table = Table::new();
    let mut sites = Vec::new();
    for (database, pid) in [(cluster.url(), Some(cluster.pid())), (sqlite, None)] {
        let site = Site::start(&program, &database, &folder)?;
        let started = Instant::now();
        let mut seed = Command::new(&seeder);
        seed.args([&database, &site.tenant, &USERS.to_string(), &OTHERS.to_string(), MASTER_KEY]);
        sh::run(&mut seed)?;
        eprintln!("seeded in {:.0} s", started.elapsed().as_secs_f64());
        sites.push((site, pid));
    }
    // Do what autovacuum does in the minutes after so many writes.
    sql(&cluster, "VACUUM ANALYZE")?;
    sql(&cluster, "CHECKPOINT")?;
    let floors: Vec<_> = sites
        .iter()
        .map(|(site, pid)| {
            let mut command = Command::new(&handlers);
            command.arg(cluster.url()).arg(folder.join("bench.db")).arg(&site.tenant);
            let place = if pid.is_some() { "postgres" } else { "sqlite" };
            Ok((Server::start(&mut command)?, place))
        })
        .collect::<Result<_>>()?;
    let peer = if wanted(rows, "peer") { Some(Peer::start(USERS)?) } else { None };

    println!("load average before: {}", cpu::load_average());
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS}");
        for ((site, pid), (floor, place)) in sites.iter().zip(&floors) {
            let one_select = format!("{place} 00");
            measure(&mut table, rows, &one_select, "one select", floor, *pid, (16, 200), &|n| {
                get(&format!("/{place}/{}", site.user(n)), "")
            })?;
            let cursors = site.cursors()?;
            for (number, name, connections, expected, request) in
                probes(site, &cursors).into_iter().chain(hostile(site))
            {
                let key = format!("{place} {number}");
                measure(
                    &mut table,
                    rows,
                    &key,
                    name,
                    &site.server,
                    *pid,
                    (connections, expected),
                    &*request,
                )?;
            }
        }
        if let Some(peer) = &peer {
            peer.measure(&mut table, rows)?;
        }
    }
    println!("load average after: {}", cpu::load_average());
    println!("{}", render(&table));
    for (place, name) in [("postgres", "PostgreSQL"), ("sqlite", "SQLite")] {
        targets(&table, place, name);
    }
    Ok(())
}

/// Returns the requests to measure on each of our servers.
fn probes<'s>(site: &'s Site, cursors: &[String]) -> Vec<Probe<'s>> {
    let name = |n: u64| format!("user-{:06}", n.wrapping_mul(2_654_435_761) % USERS);
    let find = move |filter: String| {
        let encoded = filter.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        get(&format!("/api/scim/v2/Users?filter={encoded}"), &site.token)
    };
    let list = move |query: &str| get(&format!("/api/scim/v2/Users?{query}"), &site.token);
    let by_cursor = |at: usize| {
        let cursor = cursors.get(at).cloned().unwrap_or_default();
        move || get(&format!("/api/scim/v2/Users?cursor={cursor}&count=100"), &site.token)
    };
    let (near, middle, far) = (by_cursor(0), by_cursor(cursors.len() / 2), by_cursor(cursors.len() - 3));
    vec![
        ("01", "get by id", 16, 200, Box::new(|n| site.get(n))),
        (
            "02",
            "userName eq",
            16,
            200,
            Box::new(move |n| find(format!("userName eq \"{}@example.com\"", name(n)))),
        ),
        (
            "03",
            "externalId eq",
            16,
            200,
            Box::new(move |n| find(format!("externalId eq \"ext-{}\"", &name(n)[5..]))),
        ),
        (
            "04",
            "emails[type and value eq]",
            16,
            200,
            Box::new(move |n| {
                find(format!("emails[type eq \"work\" and value eq \"{}@example.com\"]", name(n)))
            }),
        ),
        (
            "05",
            "3-term and",
            16,
            200,
            Box::new(move |n| {
                let filter = "active ne false and name.givenName eq \"ada\"";
                find(format!("userName sw \"{}@\" and {filter}", name(n)))
            }),
        ),
        (
            "06",
            "active eq false (1,000), page of 100",
            2,
            200,
            Box::new(move |_| find("active eq false".into())),
        ),
        ("07", "list of 100 with the count", 1, 200, Box::new(move |_| list("startIndex=1&count=100"))),
        ("08", "list of 100 at 99901", 1, 200, Box::new(move |_| list("startIndex=99901&count=100"))),
        ("09", "cursor page at the start", 2, 200, Box::new(move |_| near())),
        ("10", "cursor page in the middle", 2, 200, Box::new(move |_| middle())),
        ("11", "cursor page near the end", 2, 200, Box::new(move |_| far())),
        (
            "12",
            "title co (unindexed, scans the tenant)",
            1,
            200,
            Box::new(move |_| find("title co \"x\"".into())),
        ),
        ("13", "create", 16, 201, Box::new(|n| site.create(n))),
        (
            "14",
            "PATCH active",
            16,
            200,
            Box::new(|n| {
                let body = format!(
                    r#"{{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{{"op":"replace","value":{{"active":{}}}}}]}}"#,
                    n / 1000 % 2 == 0
                );
                request("PATCH", &format!("/api/scim/v2/Users/{}", site.user(n)), &site.token, &body)
            }),
        ),
    ]
}

/// Returns expensive filters sent by `.search`, which must be refused at once.
fn hostile(site: &Site) -> Vec<Probe<'_>> {
    let search = |filter: String| {
        let body = format!("{{\"filter\":\"{}\"}}", filter.replace('"', "\\\""));
        let bytes = request("POST", "/api/scim/v2/Users/.search", &site.token, &body);
        Box::new(move |_| bytes.clone())
    };
    vec![
        ("15", "10,000 parentheses: 400", 1, 400, search("(".repeat(10_000))),
        ("16", "5,000 terms: 400", 1, 400, search(vec!["active eq true"; 5_000].join(" or "))),
        ("17", "a filter of 1 MB: 400", 1, 400, search(format!("title eq \"{}\"", "x".repeat(1_000_000)))),
        ("18", "64 levels and terms: 400", 1, 400, search("not (active eq true and ".repeat(64))),
    ]
}

/// Sends requests of one kind and adds the result to the table.
#[expect(clippy::too_many_arguments, reason = "all parameters of one probe")]
pub(crate) fn measure(
    table: &mut Table,
    rows: &[&str],
    key: &str,
    name: &str,
    server: &Server,
    database: Option<u32>,
    (connections, expected): (usize, u16),
    request: &load::Request<'_>,
) -> Result<()> {
    if !wanted(rows, key) {
        return Ok(());
    }
    let before = (cpu::seconds(server.pid()), database.map(cpu::seconds));
    let run = load::run(server.address, connections, TIME, expected, request)?;
    if run.unexpected > 0 {
        return Err(format!("{name}: {}", run.refused()));
    }
    let each = |seconds: f64| seconds * 1e6 / run.answers as f64;
    let row = table.entry(format!("{key} {name}")).or_default();
    row.rates.push(run.rate);
    row.server_micros.push(each(cpu::seconds(server.pid()) - before.0));
    let database = database.zip(before.1).map_or(0.0, |(pid, before)| each(cpu::seconds(pid) - before));
    row.database_micros.push(database);
    row.latencies(&run);
    Ok(())
}

/// Prints the targets of one database.
fn targets(table: &Table, place: &str, name: &str) {
    let row = |number: &str| format!("{place} {number}");
    let is_measured = |number: &str| table.keys().any(|key| key.starts_with(&row(number)));
    let p50 = |number: &str| column_median(table, &row(number), |row| &row.p50);
    let cpu = |number: &str| {
        column_median(table, &row(number), |row| &row.server_micros)
            + column_median(table, &row(number), |row| &row.database_micros)
    };
    let read = if place == "postgres" { 0.45 } else { 0.5 };
    for (what, over, under, least) in [
        ("get by ID / handler with one select", "01", "00", read),
        ("userName eq / get by ID", "02", "01", 0.7),
        ("emails[type and value] / userName eq", "04", "02", 0.5),
        ("and with three terms / userName eq", "05", "02", 0.5),
        ("PATCH active / create", "14", "13", 0.8),
    ] {
        AREA.ratio(table, format!("{what}, {name}"), (&row(over), &row(under)), Target::AtLeast(least));
    }
    if is_measured("01") && table.keys().any(|key| key.starts_with("peer 01")) {
        AREA.ratio(
            table,
            format!("get by ID / scim2-server (8 connections), {name}"),
            (&row("01"), "peer 01"),
            Target::None,
        );
    }
    for (what, number, most) in [
        ("list of 100 with the count", "07", 15.0),
        ("list of 100 at 99901", "08", 25.0),
        ("10,000 parentheses", "15", 5.0),
        ("filter of 5,000 terms", "16", 5.0),
        ("filter of 1 MB", "17", 5.0),
        ("filter of 64 levels", "18", 5.0),
    ] {
        if is_measured(number) {
            AREA.at_most(format!("{what}, p50, {name}"), p50(number), "ms", most);
        }
    }
    if is_measured("09") && is_measured("11") {
        AREA.at_most(format!("list of 100 without the count, CPU, {name}"), cpu("09"), "µs", 500.0);
        let middle = p50("10") / p50("09");
        AREA.at_most(format!("cursor page in the middle / at the start, p50, {name}"), middle, "", 1.5);
        let last = p50("11") / p50("09");
        AREA.at_most(format!("cursor page at the end / at the start, p50, {name}"), last, "", 1.5);
    }
}
