//! `gatehouse audit`

mod keys;
mod retention;

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    sync::Arc,
};

use audit::{
    Audited, EntryKeys, Event, Unaudited,
    events::audit_log::AuditAddressesErased,
    log::{Checkpoint, CheckpointKey, Finding, VerifyKeys, verify, verify_export},
};
use clap::Subcommand;
use kernel::{Ctx, Env, StoreError, UserId};
use serde_json::json;
use store::Tx;

use self::keys::own;
use super::{operator::Operator, report::Report, report::Result};
use crate::{
    config::{Raw, Settings},
    secrets,
};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Look whether a tenant's audit log, or an export of it, is what was sealed. Exit status 1 if it is not
    Verify {
        /// The tenant's slug, to verify the database
        #[arg(long, required_unless_present = "file")]
        tenant: Option<String>,
        /// An export with proofs (format=ndjson&proofs=true), to verify without the database
        #[arg(long, conflicts_with_all = ["tenant", "checkpoint"])]
        file: Option<PathBuf>,
        /// A checkpoint that was kept elsewhere: that the log begins with it. May be said again
        #[arg(long, value_name = "FILE")]
        checkpoint: Vec<PathBuf>,
        /// The key that verifies checkpoints; without it those of this installation. May be said again
        #[arg(long, value_name = "KEY")]
        key: Vec<String>,
        /// The id of a master key that was retired: MACs made with it are not verified. May be said again
        #[arg(long, value_name = "ID", conflicts_with = "file")]
        retired_key: Vec<String>,
    },
    /// Print the keys that verify a tenant's checkpoints
    Key {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
    },
    /// Say how long a tenant's entries are kept
    Retain {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
        /// Days, from 1 to 36500
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=36500), required_unless_present = "forever")]
        days: Option<u32>,
        /// As long as there is the database
        #[arg(long, conflicts_with = "days")]
        forever: bool,
    },
    /// Drop a tenant's entries whose time is over; their hashes stay. Verifies the log first, and drops nothing of one that is not what was sealed
    Drop {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
        /// The id of a master key that was retired: MACs made with it are not verified. May be said again
        #[arg(long, value_name = "ID")]
        retired_key: Vec<String>,
    },
    /// Erase the addresses from which somebody has acted; proofs stay valid
    Erase {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
        /// The id of the person: usr_…
        #[arg(long)]
        user: UserId,
    },
}

pub(crate) async fn run(command: Command, raw: &mut Raw, env: Arc<dyn Env>) -> Result<Report> {
    let folder = raw.settings()?.data_dir;
    secrets::read_kept(&folder, raw)?;
    let settings = raw.settings()?;
    // An export is verified where there is no database.
    if let Command::Verify { file: Some(file), key, .. } = &command {
        return verify_file(file, key, &settings);
    }
    let office = Operator::open_with(&settings, env).await?;
    match command {
        Command::Verify { tenant, checkpoint, key, retired_key, .. } => {
            let tenant = tenant.ok_or("--tenant: say whose log")?;
            let said = VerifyOptions { known: checkpoint, keys: key, retired: retired_key };
            verify_database(&tenant, &said, &settings, &office).await
        }
        Command::Key { tenant } => {
            let tenant = office.tenant(&tenant).await?;
            let keys: Vec<_> =
                own(&settings).of(tenant.id.as_str()).iter().map(ToString::to_string).collect();
            Ok(Report::new(json!({ "keys": keys }), keys.join("\n")))
        }
        Command::Retain { tenant, days, .. } => retention::retain(&tenant, days, &settings, &office).await,
        Command::Drop { tenant, retired_key } => {
            retention::purge_old(&tenant, &retired_key, &settings, &office).await
        }
        Command::Erase { tenant, user } => erase(&tenant, &user, &office).await,
    }
}

/// The keys that are said, or else those of the installation.
fn keys(said: &[String], settings: &Settings, tenant: &str) -> Result<Vec<CheckpointKey>> {
    let parse = |text: &String| {
        CheckpointKey::parse(text).ok_or_else(|| format!("--key: not a key of checkpoints: {text}"))
    };
    let mut keys = said.iter().map(parse).collect::<std::result::Result<Vec<_>, _>>()?;
    if keys.is_empty() {
        keys = own(settings).of(tenant);
    }
    if keys.is_empty() {
        return Err("there is no key: say --key, or set GATEHOUSE_MASTER_KEY".into());
    }
    Ok(keys)
}

/// What a verification of the database is told.
struct VerifyOptions {
    known: Vec<PathBuf>,
    keys: Vec<String>,
    retired: Vec<String>,
}

async fn verify_database(
    tenant: &str,
    said: &VerifyOptions,
    settings: &Settings,
    office: &Operator,
) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let name = tenant.id.to_string();
    let keys = keys(&said.keys, settings, &name)?;
    let mut checkpoints = Vec::new();
    for path in &said.known {
        let note = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let checkpoint = Checkpoint::verified(&note, &keys);
        checkpoints.push(checkpoint.map_err(|error| format!("{}: {error}", path.display()))?);
    }
    let masters = settings.master_keys();
    let entries = EntryKeys::derive(&masters);
    let with = VerifyKeys {
        checkpoints: &keys,
        entries: Some(&entries).filter(|keys| !keys.is_empty()),
        retired: &said.retired,
    };
    let look = async |tx: &mut Tx| verify(tx, &name, with, checkpoints).await;
    let found = office.store.at_one_moment::<_, StoreError>(tenant.id, look).await?;
    let mut seen = format!(
        "{} entries in the log of {}, root {}; {} hashed again, {} dropped, {} waiting, {} checkpoints compared, {} MACs verified",
        found.size,
        tenant.slug,
        found.root,
        found.entries,
        found.dropped,
        found.waiting,
        found.checkpoints,
        found.macs
    );
    // A slug is a column of the database like any other: the id, which is in each signature, says whose log it is.
    let origin = Checkpoint::new(&name, 0, [0; 32]).origin;
    seen.push_str("\nthe log is ");
    seen.push_str(&origin);
    if entries.is_empty() {
        seen.push_str("\nno MAC was verified: that needs GATEHOUSE_MASTER_KEY");
    }
    let mut json = serde_json::to_value(&found)?;
    if let Some(json) = json.as_object_mut() {
        json.insert("tenantId".into(), name.clone().into());
        json.insert("origin".into(), origin.into());
    }
    Ok(verdict(json, seen, &found.findings, found.count))
}

/// What was looked at, each finding, and what that means.
fn verdict(json: serde_json::Value, seen: String, findings: &[Finding], count: usize) -> Report {
    let mut lines = vec![seen];
    lines.extend(findings.iter().map(ToString::to_string));
    lines.push(match count {
        0 => "nothing was changed".into(),
        count => format!("{count} findings: this is not the log that was sealed"),
    });
    Report { json, lines: lines.join("\n"), failed: count > 0 }
}

fn verify_file(path: &Path, said: &[String], settings: &Settings) -> Result<Report> {
    let open = || File::open(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut first = String::new();
    std::io::BufRead::read_line(&mut BufReader::new(open()?), &mut first)?;
    // Whose it is decides which of our keys are asked; that it is theirs is verified with them.
    let head: serde_json::Value = serde_json::from_str(&first).unwrap_or_default();
    let note = head.get("checkpoint").and_then(serde_json::Value::as_str).unwrap_or_default();
    let tenant = Checkpoint::read(note).ok().and_then(|read| read.tenant().map(str::to_owned));
    let keys = keys(said, settings, tenant.as_deref().unwrap_or_default())?;
    let found = verify_export(BufReader::new(open()?), &keys)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let seen = format!(
        "{} entries of the log of {} with {}, root {}; {} left out between the first and the last",
        found.entries, found.tenant, found.size, found.root, found.left_out
    );
    Ok(verdict(serde_json::to_value(&found)?, seen, &found.findings, found.count))
}

async fn erase(tenant: &str, user: &UserId, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let mut erased = 0;
    loop {
        let user = user.clone();
        let some = async move |_: &Ctx, tx: &mut Tx| {
            let entries = tx.erase_addresses(user.as_str()).await?;
            Ok::<_, StoreError>(match entries {
                0 => Audited::without(0, Unaudited::NothingChanged),
                entries => {
                    Audited::new(entries, Event::new(user.as_str(), &AuditAddressesErased { entries }))
                }
            })
        };
        match office.write(&tenant.id, some).await? {
            0 => break,
            some => erased += some,
        }
    }
    let said = format!("the addresses of {erased} entries of {} are erased", tenant.slug);
    Ok(Report::new(json!({ "erased": erased }), said))
}
