//! Migrates the database, and distributes it by tenant.

use audit::EntryKeys;
use serde_json::json;
use store::{SHARDS, Store};

use super::{
    operator::make_data_dir,
    report::{Report, Result},
};
use crate::config::Settings;

/// Arguments of `gatehouse migrate`.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Also distribute the tables by tenant with the Citus extension. Stop the servers first
    #[arg(long)]
    distribute: bool,
    /// Print the statements that would distribute the tables and change nothing
    #[arg(long, requires = "distribute")]
    dry_run: bool,
    /// Number of shards of each table: the maximum number of worker nodes. Cannot be changed later
    #[arg(long, requires = "distribute", default_value_t = SHARDS, value_parser = clap::value_parser!(u16).range(1..=1024))]
    shards: u16,
}

pub(super) async fn run(arguments: &Arguments, settings: &Settings) -> Result<Report> {
    make_data_dir(settings)?;
    let store = Store::open(&settings.database_url, 1, EntryKeys::none())?;
    if arguments.dry_run {
        let statements = store.distribute(arguments.shards, true).await?;
        let lines = statements.join(";\n");
        let lines = if lines.is_empty() { ALREADY.to_owned() } else { format!("BEGIN;\n{lines};\nCOMMIT;") };
        return Ok(Report::new(json!({ "statements": statements }), lines));
    }
    let applied = store.migrate().await?;
    let mut lines = if applied.is_empty() { "The schema is up to date".into() } else { applied.join("\n") };
    if !arguments.distribute {
        return Ok(Report::new(json!({ "applied": applied }), lines));
    }
    let statements = store.distribute(arguments.shards, false).await?;
    lines.push('\n');
    lines.push_str(if statements.is_empty() { ALREADY } else { "Distributed the tables by tenant" });
    Ok(Report::new(json!({ "applied": applied, "statements": statements }), lines))
}

const ALREADY: &str = "All tables are distributed";
