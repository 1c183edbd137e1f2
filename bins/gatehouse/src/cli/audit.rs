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
use super::{
    operator::Operator,
    report::{Report, Result, counted},
};
use crate::{
    config::{Raw, Settings},
    secrets,
};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Verify a tenant's audit log, or an export of it. Exits with 1 if the log was changed after it was sealed
    #[command(after_help = "Example:\n  gatehouse audit verify --tenant acme")]
    Verify {
        /// Slug of the tenant whose log in the database is verified
        #[arg(long, required_unless_present = "file")]
        tenant: Option<String>,
        /// Export with proofs (format=ndjson&proofs=true) to verify without the database
        #[arg(long, conflicts_with_all = ["tenant", "checkpoint"])]
        file: Option<PathBuf>,
        /// Checkpoint kept outside of the server: verify that the log extends it. Repeatable
        #[arg(long, value_name = "FILE")]
        checkpoint: Vec<PathBuf>,
        /// Public key that verifies checkpoints [default: the keys of this installation]. Repeatable
        #[arg(long, value_name = "KEY")]
        key: Vec<String>,
        /// ID of a retired master key: MACs made with it are not verified. Repeatable
        #[arg(long, value_name = "ID", conflicts_with = "file")]
        retired_key: Vec<String>,
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
    let folder = raw.settings()?.data_dir;
    secrets::read_kept(&folder, raw)?;
    let settings = raw.settings()?;
    // Verifying an export needs no database.
    if let Command::Verify { file: Some(file), key, .. } = &command {
        return verify_file(file, key, &settings);
    }
    let office = Operator::open_with(&settings, env).await?;
    match command {
        Command::Verify { tenant, checkpoint, key, retired_key, .. } => {
            let tenant = tenant.ok_or("--tenant: name the tenant whose log to verify")?;
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
        Command::Purge { tenant, retired_key } => {
            retention::purge_old(&tenant, &retired_key, &settings, &office).await
        }
        Command::Erase { tenant, user } => erase(&tenant, &user, &office).await,
    }
}

/// Returns the keys given on the command line, or those of this installation.
fn keys(said: &[String], settings: &Settings, tenant: &str) -> Result<Vec<CheckpointKey>> {
    let parse = |text: &String| {
        CheckpointKey::parse(text).ok_or_else(|| format!("--key: not a public key of checkpoints: {text}"))
    };
    let mut keys = said.iter().map(parse).collect::<std::result::Result<Vec<_>, _>>()?;
    if keys.is_empty() {
        keys = own(settings).of(tenant);
    }
    if keys.is_empty() {
        return Err("No key to verify with: set --key or GATEHOUSE_MASTER_KEY".into());
    }
    Ok(keys)
}

/// Options of a verification in the database.
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
    let found = office.store.on_snapshot::<_, StoreError>(tenant.id, look).await?;
    let mut seen = format!(
        "{} in the log of {}, root {}\nRehashed {}, purged {}, unsealed {}; compared {}, verified {}",
        counted(found.size, "entry", "entries"),
        tenant.slug,
        found.root,
        found.entries,
        found.dropped,
        found.waiting,
        counted(found.checkpoints, "checkpoint", "checkpoints"),
        counted(found.macs, "MAC", "MACs")
    );
    // The slug is a database column that an attacker can change. The ID is part of each signature.
    let origin = Checkpoint::new(&name, 0, [0; 32]).origin;
    seen.push_str("\nOrigin: ");
    seen.push_str(&origin);
    if entries.is_empty() {
        seen.push_str("\nMACs were not verified: set GATEHOUSE_MASTER_KEY");
    }
    let mut json = serde_json::to_value(&found)?;
    if let Some(json) = json.as_object_mut() {
        json.insert("tenantId".into(), name.clone().into());
        json.insert("origin".into(), origin.into());
    }
    Ok(verdict(json, seen, &found.findings, found.count))
}

/// Reports the scope of a verification, each finding and the conclusion.
fn verdict(json: serde_json::Value, seen: String, findings: &[Finding], count: usize) -> Report {
    let mut lines = vec![seen];
    lines.extend(findings.iter().map(ToString::to_string));
    lines.push(match count {
        0 => "The log is unchanged since it was sealed".into(),
        count => {
            format!("{}: the log was changed after it was sealed", counted(count, "finding", "findings"))
        }
    });
    Report { json, lines: lines.join("\n"), failed: count > 0 }
}

fn verify_file(path: &Path, said: &[String], settings: &Settings) -> Result<Report> {
    let open = || File::open(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut first = String::new();
    std::io::BufRead::read_line(&mut BufReader::new(open()?), &mut first)?;
    // The unverified tenant ID only selects keys; the signature is then verified with them.
    let head: serde_json::Value = serde_json::from_str(&first).unwrap_or_default();
    let note = head.get("checkpoint").and_then(serde_json::Value::as_str).unwrap_or_default();
    let tenant = Checkpoint::read(note).ok().and_then(|read| read.tenant().map(str::to_owned));
    let keys = keys(said, settings, tenant.as_deref().unwrap_or_default())?;
    let found = verify_export(BufReader::new(open()?), &keys)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let seen = format!(
        "{} of the log of {} (size {}, root {}); {} left out between the first and the last",
        counted(found.entries, "entry", "entries"),
        found.tenant,
        found.size,
        found.root,
        found.left_out
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
    let entries = counted(erased, "entry", "entries");
    let said = format!("Erased the IP addresses of {entries} of {}", tenant.slug);
    Ok(Report::new(json!({ "erased": erased }), said))
}
