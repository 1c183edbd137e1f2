//! `cargo xtask bench overload`: three times the server's capacity, and clients that never finish their bodies.

use std::time::Duration;

use xtask::{
    cluster::{Cluster, Durability},
    sh::Result,
    system,
};

use crate::{
    build, cpu,
    figures::Area,
    folder::Folder,
    load::{self, Paced},
    site::Site,
    slow_bodies,
};

pub(crate) const AREA: Area = Area("overload");
/// Rounds of normal load, overload, and normal load again.
const ROUNDS: usize = 3;
/// Connections that saturate the server.
const BUSY: usize = 16;
/// Connections of the overload; each has at most one request in progress.
const CROWD: usize = 300;
const TIME: Duration = Duration::from_secs(5);

pub(crate) fn run() -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    let program = build::gatehouse()?;
    let cluster = Cluster::start(Durability::Steady)?;
    let folder = Folder::new("overload")?;
    let sqlite = format!("sqlite:{}", folder.join("bench.db").display());
    println!("load average before: {}", cpu::load_average());
    println!(
        "| database | round | | offered/s | admitted/s | p50 ms | p99 ms | refused/s | p99 ms of refusals |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    let databases = [("PostgreSQL", cluster.url()), ("SQLite", sqlite)];
    for (name, database) in &databases {
        let site = Site::start(&program, database, &folder)?;
        let get = |number| site.get(number);
        let address = site.server.address;
        let capacity = load::run(address, BUSY, TIME, 200, &get)?.rate;
        let mut ratios = Vec::new();
        for round in 1..=ROUNDS {
            let row = |what: &str, offered: f64, paced: &Paced| {
                println!(
                    "| {name} | {round} | {what} | {offered:.0} | {:.0} | {:.2} | {:.2} | {:.0} | {:.2} |",
                    paced.admitted.rate,
                    paced.admitted.percentile(0.5),
                    paced.admitted.percentile(0.99),
                    paced.refused,
                    paced.refusals.percentile(0.99),
                );
            };
            let offered = capacity * 0.7;
            let normal = load::paced(address, BUSY, offered, TIME, &get)?;
            row("70 % of capacity", offered, &normal);
            let crowd = load::paced(address, CROWD, capacity * 3.0, TIME, &get)?;
            row("three times capacity", capacity * 3.0, &crowd);
            let after = load::paced(address, BUSY, offered, TIME, &get)?;
            row("70 % at once after it", offered, &after);
            ratios.push(crowd.admitted.percentile(0.99) / normal.admitted.percentile(0.99));
        }
        ratios.sort_by(f64::total_cmp);
        let median = ratios.get(ROUNDS / 2).copied().unwrap_or_default();
        AREA.shown(format!("capacity, {name}"), capacity, "per s");
        AREA.at_most(
            format!("p99 of admitted requests at three times capacity / normal, {name}"),
            median,
            "",
            5.0,
        );
    }
    println!(
        "\n| database | round | | sign-ins/s | p50 ms | p99 ms | refused/s |\n|---|---|---|---|---|---|---|"
    );
    for (name, database) in &databases {
        slow_bodies::run(&program, name, database, &folder)?;
    }
    println!("load average after: {}", cpu::load_average());
    Ok(())
}
