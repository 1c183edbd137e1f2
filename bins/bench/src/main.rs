//! `cargo xtask bench`: measures the server and its floors, interleaved in one run.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates, shares and milliseconds are printed for people"
)]

mod audit;
mod audit_reads;
mod auth;
mod build;
mod cpu;
mod figures;
mod folder;
mod load;
mod node_costs;
mod nodes;
mod overload;
mod path;
mod peer;
mod pgbench;
mod policies;
mod scim;
mod sink;
mod site;
mod slow_bodies;
mod soak;
mod stepup;
mod streams;
mod table;
mod webhooks;

use std::{path::Path, process::ExitCode};

use clap::{Parser, Subcommand};
use xtask::sh::Result;

/// Measure the server and minimal programs in one interleaved run
///
/// BENCH_PROGRAM names another build of the server to measure.
#[derive(Parser)]
#[command(name = "bench", bin_name = "cargo xtask bench", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure every area but the soak, and print all values with their targets as one table
    All,
    /// Measure single requests, compared with minimal handlers and pgbench
    Path {
        /// Measure only these rows, by number
        #[arg(value_name = "ROW")]
        rows: Vec<String>,
    },
    /// Measure sessions, sign-ins, timing differences, and a burst of 200 sign-ins
    Auth,
    /// Measure issuing and consuming step-up tokens, compared with one insert
    Stepup,
    /// Measure writing, sealing, reading and exporting an audit log of 5 million entries
    Audit {
        /// Run only this part
        #[arg(value_parser = ["creates", "postgresql", "sqlite"])]
        part: Option<String>,
    },
    /// Measure throughput and delay of deliveries, and the effect of bad receivers on others
    Webhooks {
        /// Run only this measurement
        #[arg(value_parser = ["drain", "paced", "bad"])]
        part: Option<String>,
    },
    /// Measure how fast log streams send an audit log, and what a stream costs the changes that it sends
    Streams {
        /// Run only this measurement
        #[arg(value_parser = ["drain", "creates"])]
        part: Option<String>,
        /// An older build of the server, whose creates are measured in the same run
        program: Option<String>,
    },
    /// Measure policy decisions, by themselves and within requests
    Policies {
        /// An older build of the server, measured in the same run
        program: Option<String>,
    },
    /// Measure creates on a distributed database with one, two and three workers, and the costs of single requests there.
    /// Needs the Citus extension
    Nodes {
        /// Run only this part
        #[arg(value_parser = ["costs"])]
        part: Option<String>,
    },
    /// Send mixed requests for a long time, and measure whether memory and open files grow
    Soak {
        /// Duration
        #[arg(default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..))]
        minutes: u64,
    },
    /// Measure the server at three times its capacity
    Overload,
    /// Measure lookups, lists and changes with 100,000 users
    Scim {
        /// Measure only the rows that begin with this text
        #[arg(value_name = "ROW")]
        rows: Vec<String>,
    },
}

fn main() -> ExitCode {
    let outcome = run(&Cli::parse().command);
    if let Some(table) = figures::summary() {
        println!("\n{table}");
    }
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::All => all(),
        Command::Soak { minutes } => soak::run(*minutes),
        Command::Path { rows } => path::run(&words(rows)),
        Command::Auth => auth::run(),
        Command::Stepup => stepup::run(),
        Command::Audit { part } => audit::run(part.as_deref()),
        Command::Webhooks { part } => webhooks::run(part.as_deref()),
        Command::Streams { part, program } => {
            streams::run(part.as_deref(), program.as_deref().map(Path::new))
        }
        Command::Policies { program } => policies::run(program.as_deref()),
        Command::Nodes { part } => nodes::run(part.as_deref()),
        Command::Overload => overload::run(),
        Command::Scim { rows } => scim::run(&words(rows)),
    }
}

type Measure = fn() -> Result<()>;

/// Measures every area. One that fails does not prevent the others.
fn all() -> Result<()> {
    let areas: [(&str, Measure); 10] = [
        ("path", || path::run(&[])),
        ("scim", || scim::run(&[])),
        ("auth", auth::run),
        ("stepup", stepup::run),
        ("policies", || policies::run(None)),
        ("audit", || audit::run(None)),
        ("webhooks", || webhooks::run(None)),
        ("streams", || streams::run(None, None)),
        ("overload", overload::run),
        ("nodes", || nodes::run(None)),
    ];
    println!("{}", cpu::machine());
    let mut failed = Vec::new();
    for (area, measure) in areas {
        println!("\n# {area}\n");
        if let Err(message) = measure() {
            println!("{area} failed: {message}");
            failed.push(area);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("not measured to the end: {}", failed.join(", ")))
}

fn words(rows: &[String]) -> Vec<&str> {
    rows.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::Cli;

    #[test]
    fn command_lines_of_the_documentation_are_understood() {
        Cli::command().debug_assert();
        let parse = |line: &str| Cli::try_parse_from(std::iter::once("bench").chain(line.split_whitespace()));
        for line in [
            "all",
            "soak",
            "soak 5",
            "path",
            "path 03 08",
            "auth",
            "stepup",
            "audit",
            "audit creates",
            "audit postgresql",
            "audit sqlite",
            "webhooks",
            "webhooks drain",
            "webhooks paced",
            "webhooks bad",
            "streams",
            "streams drain",
            "streams creates",
            "policies",
            "policies program",
            "nodes",
            "nodes costs",
            "overload",
            "scim",
            "scim sqlite",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
        for line in [
            "",
            "nonsense",
            "audit nonsense",
            "webhooks nonsense",
            "webhooks bad more",
            "nodes all",
            "soak 0",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
