//! Starts the server and other programs that print their address.

use std::{
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    cluster::lasting_port,
    sh::{self, Result},
    system,
};

/// A running server. Dropping it stops the process.
pub struct Server {
    process: Child,
    /// The address that it listens on.
    pub address: SocketAddr,
    /// The time until it printed its address.
    pub started_in: Duration,
}

impl Server {
    /// Starts the program and waits for `listening on http://…` or `https://…`.
    pub fn start(command: &mut Command) -> Result<Self> {
        let start = Instant::now();
        let mut process = command.stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let output = process.stdout.take().ok_or("no standard output")?;
        let mut lines = BufReader::new(output).lines().map_while(std::result::Result::ok);
        let address = lines.find_map(|line| {
            let (scheme, address) = line.strip_prefix("listening on ")?.split_once("://")?;
            ["http", "https"].contains(&scheme).then(|| address.parse().ok())?
        });
        let Some(address) = address else {
            let _ended = process.wait();
            return Err("the server ended without listening".into());
        };
        Ok(Self { process, address, started_in: start.elapsed() })
    }

    /// Kills the process.
    pub fn kill(mut self) {
        let _gone = self.process.kill();
        let _ended = self.process.wait();
    }

    /// Returns the process id.
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

/// Returns a free address on loopback, for a server whose address must be known before it starts.
pub fn free_address() -> Result<SocketAddr> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    free.map_err(|error| error.to_string())
}

/// Returns a free address on loopback outside the ephemeral range, so that it can be used again after a restart.
pub fn lasting_address() -> Result<SocketAddr> {
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, lasting_port()?)))
}

/// Runs the server's program to completion and returns its output.
pub fn gatehouse(program: &Path, database: &str, words: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(words).arg("--json").env("GATEHOUSE_DATABASE_URL", database);
    sh::output(command.env("GATEHOUSE_MASTER_KEY", MASTER_KEY))
}

/// The secret of session cookies.
pub const AUTH_SECRET: &str = "q3LZ8Fj0yD1uWm7xTnB5cKe9RsAhVgPi";

/// The master key.
pub const MASTER_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A cheap password cost, for runs that do not measure it.
pub const CHEAP: &str = "64,1,1";
/// The default password cost.
pub const USUAL: &str = "19456,2,1";

/// Creates a person with a password, hashed at this cost.
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

/// Makes all users of an SQLite database older than an hour. Removals of younger users are not limited.
pub fn age_users(database: &str) -> Result<()> {
    system::install(&system::SQLITE)?;
    let file = database.strip_prefix("sqlite:").ok_or("not an SQLite database")?;
    let aged = "UPDATE users SET created_at = '2026-01-01 00:00:00'";
    sh::run(Command::new("sqlite3").args([file, ".timeout 5000", aged]))
}

/// Prepares the server on a database, with publicly known secrets.
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

/// Returns a string member of a flat JSON object.
pub fn member(json: &str, name: &str) -> Result<String> {
    let start = format!("\"{name}\":\"");
    let rest = json.split_once(&start).map(|(_, rest)| rest).ok_or(format!("no {name} in {json}"))?;
    Ok(rest.split('"').next().unwrap_or_default().to_owned())
}
