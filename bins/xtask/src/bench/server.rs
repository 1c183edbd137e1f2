//! A program that says where it listens.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::sh::{self, Result};

/// A running server; ended when dropped.
pub(super) struct Server {
    process: Child,
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// How long it took until it said so.
    pub(super) started_in: Duration,
}

impl Server {
    /// Starts it and waits for `listening on http://…`.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let start = Instant::now();
        let mut process = command.stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let output = process.stdout.take().ok_or("no standard output")?;
        let mut said = BufReader::new(output).lines().map_while(std::result::Result::ok);
        let address = said.find_map(|line| line.strip_prefix("listening on http://")?.parse().ok());
        let Some(address) = address else {
            let _ended = process.wait();
            return Err("the server ended without listening".into());
        };
        Ok(Self { process, address, started_in: start.elapsed() })
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _asked = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status();
        let _ended = self.process.wait();
    }
}

/// Runs the server's program to its end: what it printed.
pub(super) fn gatehouse(program: &std::path::Path, database: &str, words: &[&str]) -> Result<String> {
    sh::output(Command::new(program).args(words).arg("--json").env("GATEHOUSE_DATABASE_URL", database))
}
