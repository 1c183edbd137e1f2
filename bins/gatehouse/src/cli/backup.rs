//! `gatehouse backup`

use std::{fs, os::unix::fs::OpenOptionsExt, path::PathBuf};

use clap::Args;
use serde_json::json;
use store::DatabaseUrl;

use super::{report::Report, report::Result};
use crate::config::Settings;

#[derive(Args)]
pub(crate) struct Command {
    /// File to write. Must not exist
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

pub(crate) fn run(command: &Command, settings: &Settings) -> Result<Report> {
    let DatabaseUrl::Sqlite(path) = &settings.database_url else {
        return Err("backup copies SQLite databases only. On PostgreSQL use pg_dump --format=custom".into());
    };
    if !path.exists() {
        return Err(format!("{}: the database does not exist", path.display()).into());
    }
    let shown = command.to.display();
    let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&command.to);
    let file = made.map_err(|error| format!("{shown}: {error}"))?;
    let done = store::back_up_sqlite(path, &command.to).map_err(|error| format!("{shown}: {error}"));
    let done = done.and_then(|()| file.sync_all().map_err(|error| format!("{shown}: {error}")));
    if let Err(problem) = done {
        let _already_gone = fs::remove_file(&command.to);
        return Err(problem.into());
    }
    let bytes = file.metadata()?.len();
    let lines = format!("Wrote {bytes} bytes to {shown}. Also back up secrets.toml, in a separate place.");
    Ok(Report::new(json!({ "file": command.to, "bytes": bytes }), lines))
}
