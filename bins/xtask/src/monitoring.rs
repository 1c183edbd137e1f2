//! Tests the alert rules and the dashboard with Prometheus.

use std::{path::Path, process::Command};

use xtask::{
    server::{CHEAP, Server, gatehouse, person, serve},
    sh::{self, Result},
    system,
};

/// Runs on SQLite, because the metrics are the same on both databases.
pub(crate) fn run(folder: &Path) -> Result<()> {
    system::install(&system::PYTHON)?;
    system::install(&system::PROMETHEUS)?;
    let program = sh::built("gatehouse");
    let database = format!("sqlite:{}", folder.join("monitored.db").display());
    gatehouse(&program, &database, &["migrate"])?;
    gatehouse(&program, &database, &["tenant", "create", "--slug", "monitored", "--name", "Monitored"])?;
    person(&program, &database, CHEAP, "monitored", "ada@monitored.example", "a password for metrics")?;
    let server = Server::start(&mut serve(&program, &database, folder))?;
    let own = folder.join("prometheus");
    std::fs::create_dir_all(&own).map_err(|error| error.to_string())?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let mut check = Command::new("python3");
    check.arg("-B").arg(sh::peers().join("monitoring/check.py")).arg(format!("http://{}", server.address));
    check
        .arg(own)
        .arg(root.join("bins/gatehouse/ship/monitoring"))
        .arg(root.join("docs/reference/metrics.md"));
    sh::run(&mut check)
}
