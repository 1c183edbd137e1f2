//! A program that says where it listens.

use std::{
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::sh::{self, Result};

/// A running server; ended when dropped.
pub struct Server {
    process: Child,
    /// Where it listens.
    pub address: SocketAddr,
    /// How long it took until it said so.
    pub started_in: Duration,
}

impl Server {
    /// Starts it and waits for `listening on http://…`.
    pub fn start(command: &mut Command) -> Result<Self> {
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

    /// Ends it without asking.
    pub fn kill(mut self) {
        let _gone = self.process.kill();
        let _ended = self.process.wait();
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(Some(_))) {
            return;
        }
        let _asked = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status();
        let _ended = self.process.wait();
    }
}

/// Runs the server's program to its end: what it printed.
pub fn gatehouse(program: &Path, database: &str, words: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(words).arg("--json").env("GATEHOUSE_DATABASE_URL", database);
    sh::output(command.env("GATEHOUSE_MASTER_KEY", MASTER_KEY))
}

/// The secret of its sessions.
pub const AUTH_SECRET: &str = "q3LZ8Fj0yD1uWm7xTnB5cKe9RsAhVgPi";

/// What its keys are derived from.
pub const MASTER_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// What a password costs to hash where that is not what is looked at.
pub const CHEAP: &str = "64,1,1";
/// What it costs by default.
pub const USUAL: &str = "19456,2,1";

/// Makes a person with a password, hashed at this cost.
pub fn person(
    program: &Path,
    database: &str,
    cost: &str,
    tenant: &str,
    email: &str,
    password: &str,
) -> Result<()> {
    let mut command = Command::new(program);
    command.args(["user", "create", "--tenant", tenant, "--email", email, "--password-stdin", "--json"]);
    command.env("GATEHOUSE_DATABASE_URL", database).env("GATEHOUSE_PASSWORD_COST", cost);
    command.env("GATEHOUSE_MASTER_KEY", MASTER_KEY);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut process = command.spawn().map_err(|error| error.to_string())?;
    let mut input = process.stdin.take().ok_or("no standard input")?;
    writeln!(input, "{password}").map_err(|error| error.to_string())?;
    drop(input);
    let status = process.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("user create: {status}")) }
}

/// The server on a database, with secrets that everybody knows.
pub fn serve(program: &Path, database: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg("serve")
        .env("GATEHOUSE_DATABASE_URL", database)
        .env("GATEHOUSE_DATA_DIR", folder)
        .env("GATEHOUSE_BIND", "127.0.0.1:0")
        .env("GATEHOUSE_WORKERS", "2")
        .env("GATEHOUSE_DRAIN_SECONDS", "0")
        .env("GATEHOUSE_SCIM_RATES", "1000000,1000000,1000000")
        .env("GATEHOUSE_AUTH_SECRET", AUTH_SECRET)
        .env("GATEHOUSE_MASTER_KEY", MASTER_KEY)
        .stderr(Stdio::null());
    command
}

/// The text of a member of a flat JSON object.
pub fn member(json: &str, name: &str) -> Result<String> {
    let start = format!("\"{name}\":\"");
    let rest = json.split_once(&start).map(|(_, rest)| rest).ok_or(format!("no {name} in {json}"))?;
    Ok(rest.split('"').next().unwrap_or_default().to_owned())
}
