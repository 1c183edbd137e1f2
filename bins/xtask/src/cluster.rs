//! A temporary PostgreSQL cluster on loopback.

use std::{
    io::Read,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU16, AtomicU32, Ordering},
    time::{Duration, Instant},
};

use crate::{
    sh::{self, Result},
    system,
};

/// The durability settings of a cluster.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// No durability, for fast tests.
    None,
    /// The defaults of PostgreSQL.
    Full,
    /// The defaults without background maintenance, which would disturb some measurements and not others.
    Steady,
}

/// A running cluster. Dropping it stops the server and deletes the data.
pub struct Cluster {
    folder: PathBuf,
    server: Child,
    port: u16,
    durability: Durability,
    /// Further settings, as `name=value`.
    settings: Vec<String>,
    /// Whether this process runs as root. PostgreSQL refuses to.
    root: bool,
}

/// The number of clusters that this process has created.
static MADE: AtomicU32 = AtomicU32::new(0);

impl Cluster {
    /// Creates and starts a cluster. If this process is root, PostgreSQL runs as the user `postgres`.
    pub fn start(durability: Durability) -> Result<Self> {
        Self::start_with(durability, Vec::new())
    }

    /// Creates and starts a cluster with further settings, as `name=value`.
    pub fn start_with(durability: Durability, settings: Vec<String>) -> Result<Self> {
        Self::start_in(&std::env::temp_dir(), durability, settings)
    }

    /// Creates and starts a cluster in a new folder inside `parent`, which the user `postgres` must be able to enter.
    pub fn start_in(parent: &Path, durability: Durability, settings: Vec<String>) -> Result<Self> {
        let bin = system::postgres_bin()?;
        remove_leftovers();
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        let _leftover = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let root = sh::output(Command::new("id").arg("-u"))? == "0";
        if root {
            sh::run(Command::new("chown").arg("postgres").arg(&folder))?;
        }
        let mut initdb = as_postgres(root, &bin.join("initdb"));
        initdb.args(["-U", "gatehouse", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]);
        if durability == Durability::None {
            // Use a linguistic collation, so that queries that need code point order have to request it.
            initdb.args(["--locale-provider=icu", "--icu-locale=en-US"]);
        }
        initdb.arg("-D");
        sh::run(initdb.arg(folder.join("data")).stdout(Stdio::null()))?;
        if has_certificate(durability, &settings) {
            certificate(root, &folder)?;
            accept_client_certificate(root, &folder)?;
        }
        let port = lasting_port()?;
        let server = spawn(durability, &settings, root, &folder, port)?;
        let mut cluster = Self { folder, server, port, durability, settings, root };
        cluster.wait(&bin)?;
        Ok(cluster)
    }

    /// Kills all processes, as a power failure would.
    pub fn kill(&mut self) {
        let parent = self.server.id();
        let children =
            sh::output(Command::new("pgrep").args(["-P", &parent.to_string()])).unwrap_or_default();
        let pids = children.lines().map(str::to_owned).chain([parent.to_string()]);
        let _gone = Command::new("kill").arg("-KILL").args(pids).stderr(Stdio::null()).status();
        let _ended = self.server.wait();
    }

    /// Stops the server without waiting for clients (fast shutdown).
    pub fn stop(&mut self) -> Result<()> {
        sh::run(Command::new("kill").args(["-INT", &self.server.id().to_string()]))?;
        self.server.wait().map(|_| ()).map_err(|error| error.to_string())
    }

    /// Restarts the server on the existing data and waits until it accepts connections.
    pub fn start_again(&mut self) -> Result<()> {
        let bin = system::postgres_bin()?;
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            self.server = spawn(self.durability, &self.settings, self.root, &self.folder, self.port)?;
            // Killed processes hold the shared memory a moment longer. Until then the new server exits at once.
            match self.wait(&bin) {
                Err(problem) if Instant::now() > deadline => return Err(problem),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Waits until the server accepts connections. If it has ended by itself, starts it again.
    pub fn recover(&mut self) -> Result<()> {
        match self.wait(&system::postgres_bin()?) {
            Err(_) if matches!(self.server.try_wait(), Ok(Some(_))) => self.start_again(),
            waited => waited,
        }
    }

    /// Returns the port that the server listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns a URL of a role that may create databases.
    pub fn url(&self) -> String {
        format!("postgres://gatehouse@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns the environment variables for the tests.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let path = |file: &str| self.folder.join(file).display().to_string();
        vec![
            ("TEST_POSTGRES_URL", self.url()),
            ("TEST_POSTGRES_ROOT", path(CERTIFICATE)),
            ("TEST_POSTGRES_CLIENT", path(CLIENT)),
        ]
    }

    /// Returns the process id of the server.
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    fn wait(&mut self, bin: &Path) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(30);
        let ready = |port: u16| {
            let mut ask = Command::new(bin.join("pg_isready"));
            ask.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()])
                .status()
                .is_ok_and(|status| status.success())
        };
        while !ready(self.port) {
            let ended = self.server.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || Instant::now() > deadline {
                let mut log = String::new();
                let _unreadable = std::fs::File::open(self.folder.join("log"))
                    .and_then(|mut file| file.read_to_string(&mut log));
                return Err(format!("PostgreSQL does not answer:\n{log}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SIGQUIT: the data is deleted, so it does not have to be written first.
        let _gone = Command::new("kill").args(["-QUIT", &self.server.id().to_string()]).status();
        let _ended = self.server.wait();
        let _removed = std::fs::remove_dir_all(&self.folder);
    }
}

/// The names of the folders of clusters. The id of the process that created it follows, and a number.
const PREFIX: &str = "gatehouse-postgres-";

/// Removes clusters whose process ended without removing them, for example because it was killed.
fn remove_leftovers() {
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if process.is_some_and(|process| !sh::is_running(process)) {
            let _removed_by_another = std::fs::remove_dir_all(entry.path());
        }
    }
}

const CERTIFICATE: &str = "server.crt";
const KEY: &str = "server.key";
/// The certificate of the role [`CLIENT_ROLE`], and its key.
const CLIENT: &str = "client.crt";
const CLIENT_KEY: &str = "client.key";
/// The role that must authenticate with a certificate. A test creates it.
const CLIENT_ROLE: &str = "gatehouse_certificate";

/// Citus creates a certificate of its own unless there is one, in a version of X.509 that TLS libraries refuse.
fn has_certificate(durability: Durability, settings: &[String]) -> bool {
    durability == Durability::None
        || settings.iter().any(|setting| setting == "shared_preload_libraries=citus")
}

/// Creates a self-signed certificate for this machine.
fn certificate(root: bool, folder: &Path) -> Result<()> {
    let mut openssl = self_signed(root, folder, "localhost", (CERTIFICATE, KEY));
    openssl.args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]);
    sh::run(openssl.stderr(Stdio::null()))
}

/// Creates the certificate of [`CLIENT_ROLE`], and requires it from this role.
fn accept_client_certificate(root: bool, folder: &Path) -> Result<()> {
    sh::run(self_signed(root, folder, CLIENT_ROLE, (CLIENT, CLIENT_KEY)).stderr(Stdio::null()))?;
    let path = folder.join("data/pg_hba.conf");
    let problem = |error: std::io::Error| format!("{}: {error}", path.display());
    let rules = std::fs::read_to_string(&path).map_err(problem)?;
    std::fs::write(&path, format!("hostssl all {CLIENT_ROLE} all cert\n{rules}")).map_err(problem)
}

/// Prepares the creation of a self-signed certificate for a name.
fn self_signed(root: bool, folder: &Path, name: &str, (certificate, key): (&str, &str)) -> Command {
    let mut openssl = as_postgres(root, Path::new("openssl"));
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]);
    openssl.args(["-days", "30", "-subj", &format!("/CN={name}")]);
    openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-out").arg(folder.join(certificate)).arg("-keyout").arg(folder.join(key));
    openssl
}

fn spawn(durability: Durability, settings: &[String], root: bool, folder: &Path, port: u16) -> Result<Child> {
    let mut postgres = as_postgres(root, &system::postgres_bin()?.join("postgres"));
    postgres.arg("-D").arg(folder.join("data")).arg("-k").arg(folder).args(["-p", &port.to_string()]);
    postgres.args(["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=400"]);
    match durability {
        Durability::Full => {}
        Durability::Steady => {
            postgres.args(["-c", "autovacuum=off", "-c", "max_wal_size=16GB", "-c", "checkpoint_timeout=1h"]);
            // The PostgreSQL documentation recommends this for a machine with a few gigabytes.
            postgres.args(["-c", "shared_buffers=1GB"]);
        }
        Durability::None => {
            postgres.args(["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off"]);
        }
    }
    if has_certificate(durability, settings) {
        let file = |name: &str, file: &str| format!("{name}={}", folder.join(file).display());
        postgres.args(["-c", "ssl=on", "-c", &file("ssl_cert_file", CERTIFICATE)]);
        postgres.args(["-c", &file("ssl_key_file", KEY), "-c", &file("ssl_ca_file", CLIENT)]);
    }
    for setting in settings {
        postgres.args(["-c", setting]);
    }
    let log = std::fs::File::options().create(true).append(true).open(folder.join("log"));
    let log = log.map_err(|error| error.to_string())?;
    let started = postgres.stdout(Stdio::null()).stderr(log).spawn();
    started.map_err(|error| format!("postgres does not start: {error}"))
}

/// Prepares a PostgreSQL program that runs as a permitted user and stops when this process ends.
fn as_postgres(root: bool, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if root {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    }
    command.arg("--").arg(program).current_dir(std::env::temp_dir());
    // A node that connects to another one looks for certificates in its home directory.
    command.env("HOME", std::env::temp_dir());
    command
}

/// Runs statements, each in a transaction of its own, and returns what the last one prints.
pub fn psql(url: &str, statements: &[&str]) -> Result<String> {
    let mut command = Command::new(system::postgres_bin()?.join("psql"));
    command.args(["-qAtX", "-v", "ON_ERROR_STOP=1", "-d", url]);
    for statement in statements {
        command.args(["-c", statement]);
    }
    sh::output(&mut command)
}

/// Returns a free port outside the ephemeral range, so that it can be reused after a restart.
pub fn lasting_port() -> Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 8000).unwrap_or(0);
    // Continue after the last result, which may not be bound yet.
    let from = first.max(NEXT.load(Ordering::Relaxed));
    let free = (from..32_000).find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    let port = free.ok_or("no free port")?;
    NEXT.store(port + 1, Ordering::Relaxed);
    Ok(port)
}

/// Runs `cargo xtask db`.
pub fn serve() -> Result<()> {
    system::install(&system::TEST)?;
    let mut cluster = Cluster::start(Durability::None)?;
    for (name, value) in cluster.variables() {
        println!("export {name}={value}");
    }
    println!("Ctrl-C ends it and removes its data");
    cluster.server.wait().map(|_| ()).map_err(|error| error.to_string())
}
