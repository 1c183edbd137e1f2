//! `cargo xtask chaos`: checks that no acknowledged change is lost, whatever fails.

mod balancer;
mod clients;
mod faults;
mod mixed;
mod nodes;
mod ordered;
mod power;
mod proxy;
mod receivers;
mod records;
mod rolling;
mod site;
mod small_disk;
mod user_load;
mod webhooks;

use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Parser, Subcommand};
use xtask::{
    sh::{self, Result, cargo},
    system,
};

use crate::{
    faults::Outcome,
    proxy::Network,
    site::{Kind, Site},
    small_disk::SmallDisk,
};

/// Inject faults on both databases: kills, slow networks, full disks
#[derive(Parser)]
#[command(name = "chaos", bin_name = "cargo xtask chaos", max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    /// Run only the faults whose names contain this text
    name: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the short form of the test command, with the server that it has built
    Short,
    /// Kill a node of a distributed database and move shards. Needs the Citus extension
    Nodes,
    /// Replace the servers behind a load balancer by another version and back, and kill one
    Rolling {
        /// The other build of the server. Without it, servers of one version are replaced
        old: Option<String>,
    },
    /// Use everything at once while servers, PostgreSQL, network, receiver and clocks fail
    Mixed {
        /// Number of rounds, with a fault each
        #[arg(default_value_t = 100)]
        rounds: usize,
        /// Seed of the faults
        #[arg(default_value_t = 1)]
        seed: u64,
        /// Another build of the server
        program: Option<PathBuf>,
    },
    /// Cut the power of a server on SQLite at random moments
    Power {
        /// Number of cuts
        #[arg(default_value_t = 500)]
        cuts: usize,
        /// Seed of the moments and losses
        #[arg(default_value_t = 1)]
        seed: u64,
        /// Another build of the server
        program: Option<PathBuf>,
    },
    /// Kill the worker and PostgreSQL while events are delivered
    Webhooks {
        /// Seed of an earlier run, to repeat the times of its kills
        seed: Option<u64>,
        /// Another build of the server
        program: Option<String>,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Some(Command::Short) => short(),
        Some(Command::Nodes) => build().and_then(|()| nodes::run()),
        Some(Command::Rolling { old }) => build().and_then(|()| rolling::run(old.as_deref())),
        Some(Command::Mixed { rounds, seed, program }) => {
            chosen(program).and_then(|program| mixed::run(program, rounds, seed))
        }
        Some(Command::Power { cuts, seed, program }) => {
            chosen(program).and_then(|program| power::run(program, cuts, seed))
        }
        Some(Command::Webhooks { seed, program }) => deliveries(seed, program.as_deref()),
        None => run(cli.name.as_deref()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("chaos: {message}");
            ExitCode::FAILURE
        }
    }
}

/// How much to run.
#[derive(Clone, Copy)]
struct Extent {
    /// Number of kills of a process.
    kills: usize,
    /// Number of restarts, full disks, and rounds of disconnecting clients.
    rounds: usize,
    /// Duration of the bad network.
    bad: Duration,
}

/// Extent of `cargo xtask chaos`.
const LONG: Extent = Extent { kills: 50, rounds: 10, bad: Duration::from_secs(20) };
/// Extent in the test command.
const SHORT: Extent = Extent { kills: 3, rounds: 1, bad: Duration::from_secs(5) };

type Fault = (&'static str, Kind, fn(&mut Site, Extent) -> Result<Outcome>);

const FAULTS: [Fault; 11] = [
    ("kill -9 of the server", Kind::Sqlite, |site, extent| faults::kill_server(site, extent.kills)),
    ("kill -9 of the server", Kind::Postgres, |site, extent| faults::kill_server(site, extent.kills)),
    ("kill -9 of PostgreSQL", Kind::Postgres, |site, extent| faults::kill_database(site, extent.kills)),
    ("restart of PostgreSQL", Kind::Postgres, |site, extent| faults::restart_database(site, extent.rounds)),
    ("network 200 ms late", Kind::Postgres, |site, extent| {
        faults::bad_network(site, Network::Late(Duration::from_millis(200)), extent.bad, true)
    }),
    ("network 5 s late", Kind::Postgres, |site, extent| {
        faults::bad_network(site, Network::Late(Duration::from_secs(5)), extent.bad, false)
    }),
    ("black hole, then delivery", Kind::Postgres, |site, extent| {
        faults::bad_network(site, Network::Buffered, extent.bad, false)
    }),
    ("black hole, connections lost", Kind::Postgres, |site, extent| {
        faults::bad_network(site, Network::Lost, extent.bad, false)
    }),
    ("full file system", Kind::Sqlite, |site, extent| faults::full_disk(site, extent.rounds)),
    ("clients that hang up", Kind::Sqlite, |site, extent| faults::cancelled(site, extent.rounds)),
    ("clients that hang up", Kind::Postgres, |site, extent| faults::cancelled(site, extent.rounds)),
];

/// Runs `cargo xtask chaos [NAME]`: all faults and deliveries, or the faults whose names contain this text.
fn run(name: Option<&str>) -> Result<()> {
    build()?;
    all(LONG, name.unwrap_or_default())?;
    if name.is_none() { webhooks::run(None, None) } else { Ok(()) }
}

/// Runs `cargo xtask chaos webhooks`: only deliveries. `seed`: of an earlier run; `program`: of another build.
fn deliveries(seed: Option<u64>, program: Option<&str>) -> Result<()> {
    if program.is_none() {
        build()?;
    }
    webhooks::run(seed, program)
}

/// Returns another build of the server, or builds it.
fn chosen(program: Option<PathBuf>) -> Result<PathBuf> {
    match program {
        Some(program) => Ok(program),
        None => build().map(|()| sh::built("gatehouse")),
    }
}

fn build() -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    system::install(&system::BALANCER)?;
    sh::run(cargo().args(["build", "--locked", "--package", "gatehouse"]))
}

/// Runs the short form with the program that the tests have built.
fn short() -> Result<()> {
    system::install(&system::BALANCER)?;
    all(SHORT, "")?;
    webhooks::short()?;
    rolling::run(None)
}

fn all(extent: Extent, name: &str) -> Result<()> {
    println!("| what | database | rounds | created | refused (503) | no answer | back within | minutes |");
    println!("|---|---|---|---|---|---|---|---|");
    let chosen: Vec<_> = FAULTS.iter().filter(|(what, ..)| what.contains(name)).collect();
    if chosen.is_empty() {
        return Err(format!("no fault is called {name}"));
    }
    for (number, (what, kind, fault)) in chosen.into_iter().enumerate() {
        let folder = std::env::temp_dir().join(format!("gatehouse-chaos-{}-{number}", std::process::id()));
        let start = Instant::now();
        let outcome = on(&folder, *kind, |site| fault(site, extent));
        let outcome = outcome.map_err(|problem| {
            format!("{what} ({}): {problem}; the server's log is in {}", kind.name(), folder.display())
        })?;
        println!(
            "| {what} | {} | {} | {} | {} | {} | {:.2} s | {:.1} |",
            kind.name(),
            outcome.rounds,
            outcome.created,
            outcome.refused,
            outcome.unanswered,
            outcome.recovery.as_secs_f64(),
            start.elapsed().as_secs_f64() / 60.0
        );
        let _removed = std::fs::remove_dir_all(&folder);
    }
    Ok(())
}

fn on(
    folder: &std::path::Path,
    kind: Kind,
    inject: impl FnOnce(&mut Site) -> Result<Outcome>,
) -> Result<Outcome> {
    // The SQLite database is on a disk of its own, which one of the faults fills.
    let _disk = (kind == Kind::Sqlite).then(|| SmallDisk::new(folder, 24)).transpose()?;
    let mut site = Site::new(kind, folder)?;
    inject(&mut site)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::Cli;

    #[test]
    fn command_lines_of_the_documentation_are_understood() {
        Cli::command().debug_assert();
        let parse = |line: &str| Cli::try_parse_from(std::iter::once("chaos").chain(line.split_whitespace()));
        for line in [
            "",
            "kill",
            "network",
            "nodes",
            "rolling",
            "rolling program",
            "short",
            "webhooks",
            "webhooks 617619",
            "webhooks 617619 program",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
        for line in ["kill more", "short more", "webhooks nonsense"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
