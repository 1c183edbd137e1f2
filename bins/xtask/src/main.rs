//! Development tasks. `cargo xtask up` starts a server, `cargo xtask test` runs all checks.

mod browser;
mod clients;
mod distributed;
mod fuzz;
mod log_streams;
mod monitoring;
mod mutants;
mod node;
mod oidc;
mod outside;
mod programs;
mod prose;
mod saml;
mod secure;
mod ship;
mod step_up;
mod story;
mod supply;
mod test;
mod timed;
mod tool;
mod up;
mod webhooks;
mod witnesses;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand};
use xtask::{cluster, sh::Result};

/// Development tasks of Gatehouse
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Build the server, create sample data and serve on localhost:8080
    Up,
    /// Run all checks of CI, on both databases
    Test,
    /// Run a temporary PostgreSQL until Ctrl-C and print its URL
    Db,
    /// Test on a distributed database: PostgreSQL with the Citus extension
    #[command(subcommand)]
    Citus(distributed::Command),
    /// Test the pages in Chromium, after `cargo build`. Screenshots are in target/browser
    Browser {
        /// Run only the walks whose names contain this text
        walk: Option<String>,
    },
    /// Test with other programs (SCIM clients, identity providers, webhook receivers), after `cargo build`
    Outside {
        /// Run one kind only
        tools: Option<outside::Tools>,
    },
    /// Check docs, pages, comments and messages against the glossary
    Prose,
    /// Fuzz one parser with libFuzzer, or all
    Fuzz {
        /// Fuzz target, or `all` for one after the other
        #[arg(value_parser = fuzz::TARGETS.into_iter().chain(["all"]).collect::<Vec<_>>())]
        target: String,
        /// Seconds to run each target
        #[arg(default_value_t = 60)]
        seconds: u32,
        /// Add inputs that reach more code to the committed corpus
        #[arg(long)]
        keep: bool,
    },
    /// Examine the tests of the libraries: change one expression at a time, and see whether a test fails
    Mutants {
        /// Crates, such as `stepup`; all if none is named
        #[arg(value_parser = mutants::CRATES)]
        crates: Vec<String>,
    },
    /// Build and try the Debian package and the container image, check unit and manifests
    #[command(subcommand)]
    Ship(ship::Command),
    /// Check the supply chain: dependencies, bill of materials, reproducible builds, unsafe code, packages
    #[command(subcommand)]
    Supply(supply::Command),
    /// Inject faults: kills, slow networks, full disks. See `cargo xtask chaos help`
    #[command(disable_help_flag = true)]
    Chaos(Words),
    /// Run benchmarks. See `cargo xtask bench help`
    #[command(disable_help_flag = true)]
    Bench(Words),
}

/// Arguments for another program.
#[derive(clap::Args)]
struct Words {
    /// Arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Option<Command>) -> Result<()> {
    match command {
        Some(Command::Up) => up::run(),
        Some(Command::Test) => test::run(),
        Some(Command::Db) => cluster::serve(),
        Some(Command::Citus(command)) => distributed::run(command),
        Some(Command::Browser { walk }) => browser::run(walk.as_deref()),
        Some(Command::Outside { tools }) => outside::chosen(tools),
        Some(Command::Prose) => prose::run(),
        Some(Command::Fuzz { target, seconds, keep }) => fuzz::chosen(&target, seconds, keep),
        Some(Command::Mutants { crates }) => mutants::run(&crates),
        Some(Command::Ship(command)) => ship::run(&command),
        Some(Command::Supply(command)) => supply::run(&command),
        Some(Command::Chaos(Words { words })) => programs::exec("chaos", &words),
        Some(Command::Bench(Words { words })) => programs::exec("bench", &words),
        None => Cli::command().print_help().map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::Cli;

    #[test]
    fn command_lines_of_the_documentation_are_understood() {
        Cli::command().debug_assert();
        let parse = |line: &str| Cli::try_parse_from(std::iter::once("xtask").chain(line.split_whitespace()));
        for line in [
            "",
            "up",
            "test",
            "db",
            "browser",
            "citus build /tmp/citus",
            "citus db",
            "citus test webhooks",
            "outside",
            "outside clients",
            "outside administrator",
            "outside saml",
            "outside monitoring",
            "fuzz filter",
            "fuzz mds 10",
            "fuzz all 3600 --keep",
            "ship deb",
            "ship image",
            "ship manifests",
            "supply deny",
            "supply deny --advisories",
            "supply sbom",
            "supply semver",
            "supply packages stepup",
            "chaos",
            "chaos short",
            "chaos webhooks 1 program",
            "chaos --help",
            "bench path 03 08",
            "bench help",
            "bench --help",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
        for line in ["nonsense", "outside nonsense", "fuzz nonsense", "up nonsense"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
