//! A temporary Citus cluster on loopback: a coordinator and workers.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    cluster::{Cluster, Durability, psql},
    sh::{self, Result},
    system,
};

/// The version that is tested. It is the last line for PostgreSQL 15.
pub const VERSION: &str = "13.2.2";

/// Settings of every node. The workers decode the write-ahead log to move shards.
const SETTINGS: [&str; 6] = [
    "max_connections=1000",
    "shared_preload_libraries=citus",
    "wal_level=logical",
    "max_prepared_transactions=400",
    "max_worker_processes=200",
    "max_locks_per_transaction=512",
];

/// A running coordinator with workers. Dropping it stops them and deletes the data.
pub struct Nodes {
    /// The node that servers connect to.
    pub coordinator: Cluster,
    /// The nodes with the shards.
    pub workers: Vec<Cluster>,
}

impl Nodes {
    /// Creates and starts the nodes. The extension must be installed.
    pub fn start(workers: usize, durability: Durability) -> Result<Self> {
        let library = sh::output(Command::new(system::postgres_bin()?.join("pg_config")).arg("--pkglibdir"))?;
        if !Path::new(&library).join("citus.so").is_file() {
            return Err("the Citus extension is missing: cargo xtask citus build SOURCE".into());
        }
        let settings = || SETTINGS.map(str::to_owned).to_vec();
        let node = || Cluster::start_with(durability, settings());
        let coordinator = node()?;
        let workers = (0..workers).map(|_| node()).collect::<Result<_>>()?;
        Ok(Self { coordinator, workers })
    }

    /// Creates a database on all nodes, whose coordinator knows the workers, and returns its URL.
    pub fn database(&self, name: &str) -> Result<String> {
        let all = || std::iter::once(&self.coordinator).chain(&self.workers);
        for node in all() {
            // Otherwise Citus creates it on the workers too.
            let create =
                ["SET citus.enable_create_database_propagation TO off", &format!("CREATE DATABASE {name}")];
            psql(&node.url(), &create)?;
            psql(&url_of(node, name), &["CREATE EXTENSION citus"])?;
        }
        let url = url_of(&self.coordinator, name);
        psql(
            &url,
            &[&format!("SELECT citus_set_coordinator_host('127.0.0.1', {})", self.coordinator.port())],
        )?;
        for worker in &self.workers {
            psql(&url, &[&format!("SELECT citus_add_node('127.0.0.1', {})", worker.port())])?;
        }
        Ok(url)
    }

    /// Returns the environment variables for the tests.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let ports: Vec<_> = self.workers.iter().map(|worker| worker.port().to_string()).collect();
        let mut variables = self.coordinator.variables();
        variables.push(("TEST_CITUS_WORKERS", ports.join(",")));
        variables
    }
}

/// Returns the shard of the table `tenants` with this tenant, and the port of the node that it is on.
pub fn placement(url: &str, tenant: &str) -> Result<(String, String)> {
    let shard = format!("get_shard_id_for_distribution_column('tenants', '{tenant}')");
    let query =
        format!("SELECT shardid || ' ' || nodeport FROM pg_dist_shard_placement WHERE shardid = {shard}");
    let found = psql(url, &[&query])?;
    let (shard, port) = found.split_once(' ').ok_or("the tenant has no shard")?;
    Ok((shard.to_owned(), port.to_owned()))
}

fn url_of(node: &Cluster, database: &str) -> String {
    format!("postgres://gatehouse@127.0.0.1:{}/{database}", node.port())
}

/// Builds the extension from a source folder and installs it for the newest PostgreSQL server of this machine.
pub fn build(source: &Path) -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    system::install(&system::CITUS)?;
    let folder = copy(source)?;
    correct(&folder)?;
    let pg_config = system::postgres_bin()?.join("pg_config");
    let mut configure = Command::new("./configure");
    configure.args(["--without-libcurl", "--without-lz4", "--without-zstd"]).env("PG_CONFIG", pg_config);
    sh::run(configure.current_dir(&folder).stdout(Stdio::null()))?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    sh::run(Command::new("make").args(["-s", "-j", &jobs.to_string()]).current_dir(&folder))?;
    sh::run(Command::new("make").args(["-s", "install"]).current_dir(&folder))
}

/// Copies the source, so that the named folder stays as it is.
fn copy(source: &Path) -> Result<PathBuf> {
    let configure = source.join("configure");
    if !configure.is_file() {
        return Err(format!("{}: not the source of Citus {VERSION}", source.display()));
    }
    let folder = sh::root().join("target/citus");
    let _earlier = std::fs::remove_dir_all(&folder);
    sh::run(Command::new("cp").arg("-a").arg(source).arg(&folder))?;
    folder.canonicalize().map_err(|error| error.to_string())
}

/// Renames a function that PostgreSQL 15.20 and later declare too.
fn correct(folder: &Path) -> Result<()> {
    let header = folder.join("src/include/pg_version_compat.h");
    let text = std::fs::read_to_string(&header).map_err(|error| format!("{}: {error}", header.display()))?;
    let text = text.replace("\nhave_createdb_privilege(void)", "\ncitus_have_createdb_privilege(void)");
    std::fs::write(&header, text).map_err(|error| error.to_string())
}
