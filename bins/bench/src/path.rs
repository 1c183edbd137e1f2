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
    build, cpu,
    figures::{Area, Target},
    folder::Folder,
    load,
    pgbench::{Pgbench, fsyncs},
    site::{Site, get, request, sql},
    table::{Table, column_median, render, wanted},
};

const AREA: Area = Area("path");
const ROUNDS: usize = 5;
pub(crate) const TIME: Duration = Duration::from_secs(3);

pub(crate) fn run(rows: &[&str]) -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    let (program, handlers) = (build::gatehouse()?, build::example("store", "floor")?);

    let cluster = Cluster::start(Durability::Steady)?;
    let folder = Folder::new("path")?;
    let sqlite = format!("sqlite:{}", folder.join("bench.db").display());
    let postgres = cluster.url();
    let on_postgres = Site::start(&program, &postgres, &folder)?;
    let on_sqlite = Site::start(&program, &sqlite, &folder)?;
    sql(&cluster, "CREATE TABLE floor (id TEXT PRIMARY KEY, body TEXT NOT NULL)")?;
    let bin = system::postgres_bin()?;
    let pgbench = Pgbench { program: bin.join("pgbench"), url: cluster.url(), folder: folder.to_path_buf() };
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
    for (name, site, url) in [("PostgreSQL", &on_postgres, &postgres), ("SQLite", &on_sqlite, &sqlite)] {
        AREA.at_most(format!("idle memory, {name}"), site.idle_bytes as f64 / 1e6, "MB", 60.0);
        let ready = Site::restart_time(&program, url, &folder)?.as_secs_f64();
        AREA.at_most(format!("start to ready on an existing database, {name}"), ready, "s", 1.0);
    }

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
    let measured = (1..=ROUNDS).try_for_each(|round| {
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
        Ok(())
    });
    println!("load average after: {}", cpu::load_average());
    println!("fsyncs of 4 KiB a second: {:.0}", fsyncs(&folder)?);
    println!("{}", render(&table));
    targets(&table);
    for (name, site) in [("PostgreSQL", &on_postgres), ("SQLite", &on_sqlite)] {
        let megabytes = cpu::resident_bytes(site.server.pid()) as f64 / 1e6;
        AREA.at_most(format!("memory after load, {name}"), megabytes, "MB", 100.0);
    }
    // Rounds before a failure are printed too.
    measured
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

/// Prints the targets. Ratios are medians of the ratios within a round.
fn targets(table: &Table) {
    use Target::{AtLeast, None as Shown};
    for (name, rows, target) in [
        ("get by ID / handler with one select", ("03", "02"), AtLeast(0.45)),
        ("get by ID / handler with two selects", ("03", "12"), AtLeast(0.60)),
        ("GET /api/me / handler with two selects", ("13", "12"), AtLeast(0.60)),
        ("GET /api/me/sessions / handler with two selects", ("14", "12"), AtLeast(0.60)),
        ("create / pgbench with the same statements", ("08", "07"), AtLeast(0.80)),
        ("handler with one select / pgbench -S", ("02", "04"), Shown),
        ("handler with one insert / pgbench with one insert", ("05", "06"), Shown),
        ("get by ID / handler with one select, SQLite", ("10", "09"), AtLeast(0.5)),
    ] {
        AREA.ratio(table, name, rows, target);
    }
    let is_measured = |row: &str| table.keys().any(|name| name.starts_with(row));
    let of = |row, get| column_median(table, row, get);
    if is_measured("03") {
        AREA.at_most("get by ID, server CPU", of("03", |row| &row.server_micros), "µs", 70.0);
        AREA.at_most("get by ID, p99", of("03", |row| &row.p99), "ms", 10.0);
    }
    if is_measured("08") {
        AREA.at_most("create, server CPU", of("08", |row| &row.server_micros), "µs", 200.0);
        AREA.at_most("create, p99", of("08", |row| &row.p99), "ms", 10.0);
    }
    if is_measured("07") {
        AREA.shown("pgbench with the statements of a create, p99", of("07", |row| &row.p99), "ms");
    }
    if is_measured("11") {
        AREA.at_least("create, SQLite", of("11", |row| &row.rates), "per s", 3000.0);
        AREA.at_most("create, SQLite, p99", of("11", |row| &row.p99), "ms", 25.0);
    }
}
