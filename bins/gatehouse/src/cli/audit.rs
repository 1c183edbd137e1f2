//! `gatehouse audit`

mod retention;
pub(crate) mod verify;
mod witness;

use std::{path::PathBuf, sync::Arc};

use clap::Subcommand;
use kernel::{Env, UserId};
use serde_json::json;

use self::verify::VerifyOptions;
use super::{
    operator::Operator,
    report::{Report, Result},
};
use crate::{config::Raw, secrets};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Verify a tenant's audit log, or an export of it. Exits with 1 if the log was changed after it was sealed
    #[command(after_help = "Example:\n  gatehouse audit verify --tenant acme")]
    Verify {
        /// Slug of the tenant whose log in the database is verified
        #[arg(long, required_unless_present_any = ["file", "stream"])]
        tenant: Option<String>,
        /// Export with proofs (format=ndjson&proofs=true) to verify without the database
        #[arg(long, conflicts_with_all = ["tenant", "checkpoint"])]
        file: Option<PathBuf>,
        /// Events that a receiver of a log stream has kept, one per line: verify without the database that nothing is missing
        #[arg(long, value_name = "FILE", conflicts_with_all = ["tenant", "file", "checkpoint"])]
        stream: Option<PathBuf>,
        /// Checkpoint kept outside of the server: verify that the log extends it. Repeatable
        #[arg(long, value_name = "FILE")]
        checkpoint: Vec<PathBuf>,
        /// Policy (C2SP tlog-policy): verify that its quorum of witnesses has cosigned each --checkpoint
        #[arg(long, value_name = "FILE", requires = "checkpoint")]
        policy: Option<PathBuf>,
        /// Public key that verifies checkpoints, from `audit key`. With --tenant, in addition to the keys of this installation; with --file or --stream, instead of them. Repeatable
        #[arg(long, value_name = "KEY")]
        key: Vec<String>,
        /// ID of a retired master key: MACs made with it are not verified. Repeatable
        #[arg(long, value_name = "ID", conflicts_with_all = ["file", "stream"])]
        retired_key: Vec<String>,
    },
    /// Witness the audit log of a server elsewhere: detect changes of a log that its server signs again
    Witness {
        #[command(subcommand)]
        command: witness::Command,
    },
    /// Print the public keys that verify a tenant's checkpoints
    #[command(after_help = "Example:\n  gatehouse audit key --tenant acme")]
    Key {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
    },
    /// Set how long a tenant's audit entries are kept
    #[command(after_help = "Example:\n  gatehouse audit retain --tenant acme --days 400")]
    Retain {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
        /// Days to keep entries: 1 to 36500
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=36500), required_unless_present = "forever")]
        days: Option<u32>,
        /// Keep entries forever
        #[arg(long, conflicts_with = "days")]
        forever: bool,
    },
    /// Purge a tenant's entries that are past retention; their hashes stay. Verifies the log first and purges nothing if it was changed
    #[command(alias = "drop", after_help = "Example:\n  gatehouse audit purge --tenant acme")]
    Purge {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
        /// ID of a retired master key: MACs made with it are not verified. Repeatable
        #[arg(long, value_name = "ID")]
        retired_key: Vec<String>,
    },
    /// Erase the IP addresses in a user's audit entries; proofs stay valid
    #[command(
        after_help = "Example:\n  gatehouse audit erase --tenant acme --user usr_01jz4444444444444444444444"
    )]
    Erase {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
        /// ID of the user: usr_…
        #[arg(long)]
        user: UserId,
    },
}

pub(crate) async fn run(command: Command, raw: &mut Raw, env: Arc<dyn Env>) -> Result<Report> {
    let command = match command {
        Command::Witness { command } => return witness::run(command, &*env).await,
        other => other,
    };
    let folder = raw.settings()?.data_dir;
    secrets::read_kept(&folder, raw)?;
    let settings = raw.settings()?;
    // Verifying an export needs no database.
    if let Command::Verify { file: Some(file), key, .. } = &command {
        return verify::verify_file(file, key, &settings);
    }
    if let Command::Verify { stream: Some(file), key, .. } = &command {
        return verify::verify_events(file, key, &settings);
    }
    let office = Operator::open_with(&settings, env).await?;
    match command {
        Command::Verify { tenant, checkpoint, policy, key, retired_key, .. } => {
            let tenant = tenant.ok_or("--tenant: name the tenant whose log to verify")?;
            let said = VerifyOptions { known: checkpoint, policy, keys: key, retired: retired_key };
            verify::verify_database(&tenant, &said, &settings, &office).await
        }
        Command::Key { tenant } => {
            let tenant = office.tenant(&tenant).await?;
            let keys = verify::keys(&[], true, &settings, tenant.id.as_str())?;
            let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
            Ok(Report::new(json!({ "keys": keys }), keys.join("\n")))
        }
        Command::Witness { .. } => Err("the witness needs no database".into()),
        Command::Retain { tenant, days, .. } => retention::retain(&tenant, days, &settings, &office).await,
        Command::Purge { tenant, retired_key } => {
            retention::purge(&tenant, &retired_key, &settings, &office).await
        }
        Command::Erase { tenant, user } => retention::erase(&tenant, user, &office).await,
    }
}
