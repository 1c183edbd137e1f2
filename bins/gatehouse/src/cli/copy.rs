//! `gatehouse copy`

use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt};

use clap::Args;
use serde_json::json;
use store::{Copied, DatabaseUrl};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    operator::make_data_dir,
    report::{Report, Result},
};
use crate::config::Settings;

#[derive(Args)]
pub(crate) struct Command {
    /// Database to copy to: sqlite:PATH or postgres://…. Must be empty. An environment variable hides its password
    #[arg(long, value_name = "URL", env = "TARGET_DATABASE_URL", hide_env_values = true)]
    to: String,
    /// After the copy, keep refusing changes to the source until Ctrl-C or SIGTERM
    #[arg(long)]
    hold: bool,
}

pub(crate) async fn run(command: &Command, settings: &Settings) -> Result<Report> {
    let to: DatabaseUrl = command.to.parse().map_err(|error| format!("--to: {error}"))?;
    make_data_dir(settings)?;
    if let DatabaseUrl::Sqlite(path) = &to {
        // Only for the owner. An existing file stays, and is refused unless it is an empty database.
        let _exists = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    }
    let copied = store::copy(&settings.database_url, &to).await?;
    if command.hold {
        let (mut interrupted, mut terminated) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        eprintln!("The copy is complete. The source refuses changes until Ctrl-C or SIGTERM.");
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    }
    Ok(report(&copied))
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
