//! `gatehouse audit verify`

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use audit::{
    EntryKeys,
    log::{
        Checkpoint, CheckpointKey, CheckpointKeys, Finding, VerifyKeys, exported_tenant, streamed_tenant,
        verify, verify_export, verify_stream,
    },
};
use kernel::StoreError;
use serde_json::Value;
use store::Tx;

use super::witness::{read, read_policy};
use crate::{
    cli::{
        operator::Operator,
        report::{Report, Result},
    },
    config::Settings,
};

/// Returns the checkpoint keys of this installation.
pub(super) fn own_keys(settings: &Settings) -> CheckpointKeys {
    CheckpointKeys::derive(&settings.master_keys())
}

/// Returns the keys given on the command line, with `own` or without any also those of this installation.
pub(super) fn keys(said: &[String], own: bool, of: &Settings, tenant: &str) -> Result<Vec<CheckpointKey>> {
    let parse = |text: &str| {
        CheckpointKey::parse(text).ok_or_else(|| format!("--key: not a public key of checkpoints: {text}"))
    };
    // `gatehouse audit key` prints a key per line, so that one value may contain several.
    let said = said.iter().flat_map(|text| text.split_whitespace());
    let mut keys = said.map(parse).collect::<std::result::Result<Vec<_>, _>>()?;
    if keys.is_empty() || own {
        keys.extend(own_keys(of).of(tenant));
    }
    if keys.is_empty() {
        return Err("No key is known: put secrets.toml back, or set --key or GATEHOUSE_MASTER_KEY".into());
    }
    Ok(keys)
}

/// Options of a verification in the database.
pub(crate) struct VerifyOptions {
    pub(crate) known: Vec<PathBuf>,
    pub(crate) policy: Option<PathBuf>,
    pub(crate) keys: Vec<String>,
    pub(crate) retired: Vec<String>,
}

pub(crate) async fn verify_database(
    tenant: &str,
    said: &VerifyOptions,
    settings: &Settings,
    office: &Operator,
) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let name = tenant.id.to_string();
    let keys = keys(&said.keys, true, settings, &name)?;
    let (checkpoints, unwitnessed) = kept_checkpoints(said, &keys)?;
    let masters = settings.master_keys();
    let entries = EntryKeys::derive(&masters);
    let with = VerifyKeys {
        checkpoints: &keys,
        entries: Some(&entries).filter(|keys| !keys.is_empty()),
        retired: &said.retired,
    };
    let look = async |tx: &mut Tx| verify(tx, &name, with, checkpoints).await;
    let mut found = office.store.on_snapshot::<_, StoreError>(tenant.id, look).await?;
    for finding in unwitnessed {
        found.found(finding);
    }
    let mut seen = found.summary(&tenant.slug);
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
    Ok(verdict(json, seen, &found.findings, found.conclusion()))
}

/// Returns the checkpoints of the command line, and which of them too few witnesses have cosigned.
fn kept_checkpoints(said: &VerifyOptions, keys: &[CheckpointKey]) -> Result<(Vec<Checkpoint>, Vec<Finding>)> {
    let policy = said.policy.as_deref().map(read_policy).transpose()?;
    let (mut checkpoints, mut findings) = (Vec::new(), Vec::new());
    for path in &said.known {
        let note = read(path)?;
        let checkpoint = Checkpoint::verified(&note, keys);
        let checkpoint = checkpoint.map_err(|error| format!("{}: {error}", path.display()))?;
        if let Some(Err(error)) = policy.as_ref().map(|policy| policy.verify(&note, keys)) {
            findings.push(Finding::NotWitnessed { size: checkpoint.size, problem: error.to_string() });
        }
        checkpoints.push(checkpoint);
    }
    Ok((checkpoints, findings))
}

/// Reports the scope of a verification, each finding and the conclusion.
fn verdict(json: Value, seen: String, findings: &[Finding], conclusion: String) -> Report {
    let mut lines = vec![seen];
    lines.extend(findings.iter().map(ToString::to_string));
    lines.push(conclusion);
    Report { json, lines: lines.join("\n"), failed: !findings.is_empty() }
}

fn open(path: &Path) -> Result<BufReader<File>> {
    Ok(File::open(path).map(BufReader::new).map_err(|error| format!("{}: {error}", path.display()))?)
}

/// Verifies the events that a receiver of a log stream has kept.
pub(super) fn verify_events(path: &Path, said: &[String], settings: &Settings) -> Result<Report> {
    let tenant = streamed_tenant(open(path)?)?;
    let keys = keys(said, false, settings, tenant.as_deref().unwrap_or_default())?;
    let found = verify_stream(open(path)?, &keys).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(verdict(serde_json::to_value(&found)?, found.summary(), &found.findings, found.conclusion()))
}

pub(super) fn verify_file(path: &Path, said: &[String], settings: &Settings) -> Result<Report> {
    let tenant = exported_tenant(open(path)?)?;
    let keys = keys(said, false, settings, tenant.as_deref().unwrap_or_default())?;
    let found = verify_export(open(path)?, &keys).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(verdict(serde_json::to_value(&found)?, found.summary(), &found.findings, found.conclusion()))
}
