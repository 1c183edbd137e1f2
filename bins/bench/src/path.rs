//! `cargo xtask bench path`: cost of single requests, compared to their floors.

use std::{process::Command, time::Duration};

use xtask::{
    cluster::{Cluster, Durability, psql},
    server::{CHEAP, Server, person},
    sh::Result,
    system,
    wait::until,
};

use crate::{
    auth::{PASSWORD, email, sign_in, with_cookies},
    build, cpu, load,
    pgbench::{Pgbench, fsyncs},
    site::{Site, get, request, sql},
    table::{Table, column_median, ratio, render, wanted},
};

const ROUNDS: usize = 5;
pub(crate) const TIME: Duration = Duration::from_secs(3);

pub(crate) fn run(rows: &[&str]) -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    let (program, handlers) = (build::gatehouse()?, build::example("store", "floor")?);

    let cluster = Cluster::start(Durability::Steady)?;
    let folder = std::env::temp_dir().join(format!("gatehouse-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let sqlite = format!("sqlite:{}", folder.join("bench.db").display());
    let postgres = cluster.url();
    let on_postgres = Site::start(&program, &postgres, &folder)?;
    let on_sqlite = Site::start(&program, &sqlite, &folder)?;
    sql(&cluster, "CREATE TABLE floor (id TEXT PRIMARY KEY, body TEXT NOT NULL)")?;
    let bin = system::postgres_bin()?;
    let pgbench = Pgbench { program: bin.join("pgbench"), url: cluster.url(), folder: folder.clone() };
    pgbench.prepare()?;
    await_statistics(&cluster)?;
    person(&program, &postgres, CHEAP, "bench", &email(0), PASSWORD)?;
    let cookies = cookies(&on_postgres)?;
    let mut floor = Command::new(&handlers);
    floor.arg(&postgres).arg(folder.join("bench.db")).arg(&on_postgres.tenant);
    let floor_postgres = Server::start(&mut floor)?;
    let mut floor = Command::new(&handlers);
    floor.arg(&postgres).arg(folder.join("bench.db")).arg(&on_sqlite.tenant);
    let floor_sqlite = Server::start(&mut floor)?;

    println!("fsyncs of 4 KiB a second: {:.0}", fsyncs(&folder)?);
    println!("load average before: {}", cpu::load_average());
    println!(
        "idle memory: {:.0} MB on PostgreSQL, {:.0} MB on SQLite; ready after {:.2} s and {:.2} s on a new, {:.2} s on an existing database",
        on_postgres.idle_bytes as f64 / 1e6,
        on_sqlite.idle_bytes as f64 / 1e6,
        on_postgres.server.started_in.as_secs_f64(),
        on_sqlite.server.started_in.as_secs_f64(),
        Site::restart_time(&program, &sqlite, &folder)?.as_secs_f64(),
    );

    let mut table = Table::new();
    let probe = |name: &'static str,
                 table: &mut Table,
                 server: &Server,
                 database: Option<u32>,
                 connections,
                 expected,
                 request: &load::Request<'_>| {
        if !wanted(rows, name) {
            return Ok(());
        }
        let run = || load::run(server.address, connections, TIME, expected, request);
        let row = table.entry(name.to_owned()).or_default();
        row.measure(server.pid(), database, run).map_err(|error| format!("{name}: {error}"))
    };
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS}");
        let database = Some(cluster.pid());
        probe("01 actix, nothing", &mut table, &floor_postgres, None, 16, 200, &|_| get("/empty", ""))?;
        probe("02 actix, one select (PostgreSQL)", &mut table, &floor_postgres, database, 16, 200, &|n| {
            get(&format!("/postgres/{}", on_postgres.user(n)), "")
        })?;
        probe("03 get by id (PostgreSQL)", &mut table, &on_postgres.server, database, 16, 200, &|n| {
            on_postgres.get(n)
        })?;
        pgbench.run(rows, "04 pgbench -S", &mut table, cluster.pid(), None)?;
        probe("05 actix, one insert (PostgreSQL)", &mut table, &floor_postgres, database, 16, 201, &|_| {
            request("POST", "/postgres", "", "{}")
        })?;
        pgbench.run(rows, "06 pgbench, one insert", &mut table, cluster.pid(), Some("insert.sql"))?;
        pgbench.run(
            rows,
            "07 pgbench, the create's statements",
            &mut table,
            cluster.pid(),
            Some("create.sql"),
        )?;
        probe("08 create (PostgreSQL)", &mut table, &on_postgres.server, database, 16, 201, &|n| {
            on_postgres.create(n)
        })?;
        probe("12 actix, two selects (PostgreSQL)", &mut table, &floor_postgres, database, 16, 200, &|n| {
            get(&format!("/postgres/two/{}", on_postgres.user(n)), "")
        })?;
        for (name, path) in [
            ("13 GET /api/me (PostgreSQL)", "/api/me"),
            ("14 GET /api/me/sessions (PostgreSQL)", "/api/me/sessions"),
        ] {
            probe(name, &mut table, &on_postgres.server, database, 16, 200, &|_| {
                with_cookies(path, &cookies)
            })?;
        }
        probe("09 actix, one select (SQLite)", &mut table, &floor_sqlite, None, 16, 200, &|n| {
            get(&format!("/sqlite/{}", on_sqlite.user(n)), "")
        })?;
        probe("10 get by id (SQLite)", &mut table, &on_sqlite.server, None, 16, 200, &|n| on_sqlite.get(n))?;
        probe("11 create (SQLite)", &mut table, &on_sqlite.server, None, 32, 201, &|n| on_sqlite.create(n))?;
    }
    println!("load average after: {}", cpu::load_average());
    println!("fsyncs of 4 KiB a second: {:.0}", fsyncs(&folder)?);
    println!("{}", render(&table));
    println!("{}", bars(&table));
    let _removed = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// Waits until the server has analyzed its new tables. Until then, plans made for the empty tables stay, and some of them
/// read all rows of the tenant.
fn await_statistics(cluster: &Cluster) -> Result<()> {
    let analyzed = "SELECT last_analyze IS NOT NULL FROM pg_stat_user_tables WHERE relname = 'users'";
    let is_analyzed = || Ok(psql(&cluster.url(), &[analyzed])? == "t");
    until(Duration::from_secs(30), "the server did not analyze its tables", is_analyzed)
}

/// Signs in and returns the cookies.
fn cookies(site: &Site) -> Result<String> {
    let answer = load::exchange(site.server.address, &sign_in(&email(0), PASSWORD, 0))?;
    if answer.status == 200 { Ok(answer.cookies) } else { Err(answer.text()) }
}

/// Prints the target ratios, each as the median of the ratios within a round.
fn bars(table: &Table) -> String {
    let ratio = |over, under| ratio(table, over, under);
    let of = |name, get| column_median(table, name, get);
    let lines = [
        format!("get by id / one select (PostgreSQL): {:.2} (bar 0.45)", ratio("03", "02")),
        format!("get by id / two selects (PostgreSQL): {:.2} (bar 0.60)", ratio("03", "12")),
        format!("GET /api/me / two selects (PostgreSQL): {:.2} (bar 0.60)", ratio("13", "12")),
        format!("GET /api/me/sessions / two selects (PostgreSQL): {:.2} (bar 0.60)", ratio("14", "12")),
        format!("get by id, our CPU: {:.0} µs (bar 70)", of("03", |row| &row.server_micros)),
        format!("get by id, p99: {:.1} ms (bar 10)", of("03", |row| &row.p99)),
        format!("create / pgbench of the same statements: {:.2} (bar 0.65)", ratio("08", "07")),
        format!("create, our CPU: {:.0} µs (bar 200)", of("08", |row| &row.server_micros)),
        format!(
            "create, p99: {:.1} ms (bar 10); pgbench of the same statements: {:.1} ms",
            of("08", |row| &row.p99),
            of("07", |row| &row.p99)
        ),
        format!(
            "create (SQLite): {:.0}/s (bar 3000 where the disk gives 250 fsyncs/s)",
            of("11", |row| &row.rates)
        ),
        format!("create (SQLite), p99: {:.1} ms (bar 25)", of("11", |row| &row.p99)),
        format!("get by id / one select (SQLite): {:.2} (bar 0.5)", ratio("10", "09")),
    ];
    lines.join("\n")
}
