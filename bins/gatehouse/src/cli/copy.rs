//! `gatehouse copy`

use std::{fs::OpenOptions, io::ErrorKind, os::unix::fs::OpenOptionsExt, path::Path, time::Duration};

use clap::Args;
use serde_json::json;
use store::{Copied, DatabaseUrl};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::interval,
};

use super::report::{Report, Result};
use crate::config::Settings;

/// How often a held source is checked.
const CHECKS: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(crate) struct Command {
    /// Database to copy to: sqlite:PATH or postgres://…. Must be empty. TARGET_DATABASE_URL keeps its password off the command line
    #[arg(long, value_name = "URL", env = "TARGET_DATABASE_URL", hide_env_values = true)]
    to: String,
    /// After the copy, keep refusing changes to the source until Ctrl-C or SIGTERM
    #[arg(long)]
    hold: bool,
}

pub(crate) async fn run(command: &Command, settings: &Settings) -> Result<Report> {
    let to: DatabaseUrl = command.to.parse().map_err(|error| format!("--to: {error}"))?;
    if let DatabaseUrl::Sqlite(path) = &to {
        create_private(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut copied = store::copy(&settings.database_url, &to).await?;
    if command.hold {
        hold("The copy is complete.", async || Ok(copied.still_holds().await?)).await?;
    }
    Ok(report(&copied))
}

/// Creates a file that only its owner can read. An existing one stays, and is refused later unless it is empty.
fn create_private(path: &Path) -> std::io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other.map(|_| ()),
    }
}

/// Waits for Ctrl-C or SIGTERM while changes are refused. `check` fails once they are not.
pub(super) async fn hold(done: &str, mut check: impl AsyncFnMut() -> Result<()>) -> Result<()> {
    let (mut interrupted, mut terminated) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    eprintln!("{done} The source refuses changes until Ctrl-C or SIGTERM.");
    let mut checks = interval(CHECKS);
    loop {
        tokio::select! {
            _ = interrupted.recv() => break,
            _ = terminated.recv() => break,
            _ = checks.tick() => check().await?,
        }
    }
    check().await
}

fn report(copied: &Copied) -> Report {
    let rows: u64 = copied.tables.iter().map(|table| table.rows).sum();
    let mut lines: Vec<_> = copied
        .tables
        .iter()
        .filter(|table| table.rows > 0)
        .map(|table| format!("{:<24} {:>12}  {}", table.name, table.rows, table.digest))
        .collect();
    lines.push(format!(
        "Copied {rows} rows of {} tables. Both databases have the same rows.",
        copied.tables.len()
    ));
    let tables: Vec<_> = copied
        .tables
        .iter()
        .map(|table| json!({ "table": table.name, "rows": table.rows, "digest": table.digest }))
        .collect();
    Report::new(json!({ "rows": rows, "tables": tables }), lines.join("\n"))
}
