//! The real binary in a process of its own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use store::{
    DatabaseUrl,
    testing::{Kind, TestDatabase},
};
use tempfile::TempDir;

/// A folder to run the binary in, with its settings.
pub(crate) struct Process {
    pub(crate) folder: TempDir,
    settings: Vec<(String, String)>,
    /// Kept for its `Drop`.
    database: Option<TestDatabase>,
}

/// A running server, killed on drop.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    log: PathBuf,
}

impl Process {
    pub(crate) fn new(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Self { folder, settings, database: None }
    }

    /// Prepares the binary for a new database of this kind, with server settings for tests: a free port, no rate
    /// limits, secrets for
    /// PostgreSQL.
    pub(crate) fn on(kind: Kind, settings: &[(&str, &str)]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let usual = [
            ("GATEHOUSE_BIND", "127.0.0.1:0"),
            ("GATEHOUSE_WORKERS", "2"),
            ("GATEHOUSE_SCIM_RATES", "100000,100000,100000"),
        ];
        let mut process = Self::new(&[&usual[..], settings].concat());
        if kind == Kind::Postgres {
            let database = runtime.block_on(TestDatabase::new(kind));
            let DatabaseUrl::Postgres(url) = &database.url else { unreachable!() };
            process.set("GATEHOUSE_DATABASE_URL", url);
            process.set("GATEHOUSE_AUTH_SECRET", "q3LZ8Fj0yD1uWm7xTnB5cKe9RsAhVgPi");
            process.set("GATEHOUSE_MASTER_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
            process.database = Some(database);
        }
        process
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.settings.push((name.into(), value.into()));
    }

    /// Moves the master key of a PostgreSQL installation to a file, which `gatehouse keys` can change.
    pub(crate) fn keep_master_key_in_file(&mut self) {
        let Some(place) = self.settings.iter().position(|(name, _)| name == "GATEHOUSE_MASTER_KEY") else {
            return;
        };
        let (_, key) = self.settings.remove(place);
        let path = self.path().join("master-key");
        std::fs::write(&path, key).unwrap();
        self.set("GATEHOUSE_MASTER_KEY_FILE", &path.to_string_lossy());
    }

    /// Returns the URL of its database.
    pub(crate) fn database_url(&self) -> String {
        let last = self.settings.iter().rev().find(|(name, _)| name == "GATEHOUSE_DATABASE_URL");
        last.expect("a database of its own").1.clone()
    }

    /// Runs a statement with the database's own client, bypassing the server.
    pub(crate) fn sql(&self, statement: &str) {
        let mut command = Command::new(if self.database.is_some() { "psql" } else { "sqlite3" });
        if self.database.is_some() {
            command.args(["-qAt", "-v", "ON_ERROR_STOP=1", &self.database_url(), "-c", statement]);
        } else {
            command
                .arg("-bail")
                .arg(self.path().join("data/gatehouse.db"))
                .args([".timeout 5000", statement]);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Copies the user `heavy` this many times; [`copied_user`] returns the IDs.
    pub(crate) fn copy_heavy_user(&self, times: usize) {
        self.sql(&format!(
            "INSERT INTO users (tenant_id, id, user_name, user_name_key, active, role, attributes, created_at, updated_at, \
             folded, has_groups, break_glass) SELECT tenant_id, 'usr_01jz00000000000' || (1000000000 + value) || '0', \
             user_name || value, user_name_key || value, active, role, '{{}}', created_at, updated_at, folded, has_groups, \
             break_glass FROM users, generate_series(1, {times}) AS value WHERE user_name = 'heavy'"
        ));
    }

    /// Creates a tenant and returns its SCIM token.
    pub(crate) fn tenant(&self, slug: &str) -> String {
        self.json(&["migrate"]);
        self.json(&["tenant", "create", "--slug", slug, "--name", slug, "--tier", "ENTERPRISE"]);
        let minted = self.json(&["token", "scim", "--tenant", slug, "--name", "test"]);
        minted["token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatehouse"));
        // Ignore settings of this machine.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GATEHOUSE_") {
                command.env_remove(name);
            }
        }
        command
            .args(words)
            .current_dir(self.path())
            .envs(self.settings.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs a command that must succeed, and parses its line of JSON.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.run(&[words, &["--json"]].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(text.lines().count(), 1, "one line of JSON: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Runs a command that must fail. Returns exit status and output.
    pub(crate) fn refused(&self, words: &[&str]) -> (i32, String) {
        let output = self.run(words);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "nothing on standard output");
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap().trim_end().to_owned())
    }

    pub(crate) fn with_input(&self, words: &[&str], input: &str) -> Output {
        let mut command = self.command(words);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Starts the server and waits until it reports its address.
    pub(crate) fn serve(&self) -> Running {
        self.start(self.command(&["serve"]))
    }

    /// Does the same with a limit on open files.
    pub(crate) fn serve_with_files(&self, files: u64) -> Running {
        let serve = self.command(&["serve"]);
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={files}:{files}")).arg(serve.get_program()).args(serve.get_args());
        for (name, value) in serve.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(self.path());
        self.start(command)
    }

    fn start(&self, mut command: Command) -> Running {
        let log = self.path().join("log");
        let file = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().map(|line| line.unwrap());
        let rest = first.as_deref().and_then(|line| line.strip_prefix("listening on http"));
        let Some(address) = rest.and_then(|rest| rest.strip_prefix("://").or(rest.strip_prefix("s://")))
        else {
            panic!("{first:?}, and the log: {}", std::fs::read_to_string(&log).unwrap());
        };
        Running { address: address.parse().unwrap(), child, log }
    }
}

impl Running {
    /// Sends SIGTERM and waits for the exit. Returns exit status and duration.
    pub(crate) fn terminate(&mut self) -> (Option<i32>, Duration) {
        let start = Instant::now();
        self.ask_to_end();
        (self.child.wait().unwrap().code(), start.elapsed())
    }

    /// Sends SIGKILL and waits for the end.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM without waiting.
    pub(crate) fn ask_to_end(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    /// Returns the server's log.
    pub(crate) fn log(&self) -> String {
        let mut text = String::new();
        std::fs::File::open(&self.log).unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Returns the ID of a copy, counted from 1.
pub(crate) fn copied_user(number: usize) -> String {
    format!("usr_01jz00000000000{}0", 1_000_000_000 + number)
}
