//! `cargo xtask bench`: measures the server and its floors, interleaved in one run.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures for people: rates, shares and milliseconds"
)]

mod audit;
mod audit_reads;
mod auth;
mod cpu;
mod load;
mod overload;
mod path;
mod peer;
mod pgbench;
mod policies;
mod scim;
mod sink;
mod site;
mod slow_bodies;
mod stepup;
mod table;
mod webhooks;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::sh::Result;

/// The server beside its floors, in one run, interleaved
#[derive(Parser)]
#[command(name = "bench", bin_name = "cargo xtask bench", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The request path beside its floors, as a table
    Path {
        /// Rows by their numbers; without, all of them
        #[arg(value_name = "ROW")]
        rows: Vec<String>,
    },
    /// Sessions, sign-ins, what their times tell, and a burst of 200
    Auth,
    /// Proofs given and used, beside one insert
    Stepup,
    /// The audit log written, sealed, looked at and exported, on 5 million entries
    Audit {
        /// Only creates, or everything else
        #[arg(value_parser = ["creates", "large"])]
        part: Option<String>,
    },
    /// Deliveries: how fast, how soon, and what a bad receiver costs others
    Webhooks {
        /// One measurement alone
        #[arg(value_parser = ["drain", "paced", "bad"])]
        part: Option<String>,
        /// Another build of the server
        program: Option<String>,
    },
    /// What a decision costs, beside other ways to find a rule and in a request
    Policies {
        /// An older build of the server, measured in the same run
        program: Option<String>,
    },
    /// Three times as much as the server can bear
    Overload,
    /// 100,000 users: look-ups, lists and changes, as a table
    Scim {
        /// Rows by how they begin; without, all of them
        #[arg(value_name = "ROW")]
        rows: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Path { rows } => path::run(&words(rows)),
        Command::Auth => auth::run(),
        Command::Stepup => stepup::run(),
        Command::Audit { part } => audit::run(part.as_deref()),
        Command::Webhooks { part, program } => webhooks::run(part.as_deref(), program.as_deref()),
        Command::Policies { program } => policies::run(program.as_deref()),
        Command::Overload => overload::run(),
        Command::Scim { rows } => scim::run(&words(rows)),
    }
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
            "path",
            "path 03 08",
            "auth",
            "stepup",
            "audit",
            "audit creates",
            "audit large",
            "webhooks",
            "webhooks drain",
            "webhooks paced program",
            "webhooks bad program",
            "policies",
            "policies program",
            "overload",
            "scim",
            "scim sqlite",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
        for line in ["", "nonsense", "audit nonsense", "webhooks nonsense", "webhooks bad program more"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
