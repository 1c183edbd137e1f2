//! Everything a newcomer runs. `cargo xtask up` serves; `cargo xtask test` proves.

mod browser;
mod clients;
mod fuzz;
mod node;
mod outside;
mod programs;
mod saml;
mod test;
mod up;
mod webhooks;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand};
use xtask::{cluster, sh::Result};

/// Everything a newcomer runs
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Build, make a demo tenant, serve on localhost:8080
    Up,
    /// Everything CI checks, on both databases
    Test,
    /// A throw-away PostgreSQL until Ctrl-C; prints its address
    Db,
    /// The pages in Chromium, after `cargo build`; pictures in target/browser
    Browser,
    /// Tools that others made, against the server on both databases, after `cargo build`
    Outside {
        /// One kind alone
        tools: Option<outside::Tools>,
    },
    /// Feed one reader of foreign input what libFuzzer makes up
    Fuzz {
        /// The reader
        #[arg(value_parser = fuzz::TARGETS)]
        target: String,
        /// How long
        #[arg(default_value_t = 60)]
        seconds: u32,
    },
    /// Kills, slow networks, full disks on both databases; `cargo xtask chaos help` says more
    #[command(disable_help_flag = true)]
    Chaos(Words),
    /// Measurements of the server beside its floors; `cargo xtask bench help` lists them
    #[command(disable_help_flag = true)]
    Bench(Words),
}

/// What another program is told.
#[derive(clap::Args)]
struct Words {
    /// What the program is told
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
        Some(Command::Browser) => browser::run(),
        Some(Command::Outside { tools }) => outside::chosen(tools),
        Some(Command::Fuzz { target, seconds }) => fuzz::run(&target, seconds),
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
            "outside",
            "outside clients",
            "outside administrator",
            "outside saml",
            "fuzz filter",
            "fuzz mds 10",
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
