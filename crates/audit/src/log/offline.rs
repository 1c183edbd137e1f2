//! Verifies an export with proofs, using only the public key.

use crate::error::ExportError;
use std::{
    collections::BTreeSet,
    io::{self, BufRead},
};

use data_encoding::{BASE64, HEXLOWER};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    checkpoint::{Checkpoint, CheckpointKey},
    finding::Finding,
    merkle::{Hash, verify_inclusion},
};
use crate::StoredEntry;
use crate::error::NoteError;

/// Maximum length of a line, in bytes.
const MAX_LINE: u64 = 1024 * 1024;
/// Maximum number of findings in a result. All are counted.
const MOST: usize = 1000;

/// The result of verifying an export.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedExport {
    /// The tenant of the log.
    pub tenant: String,
    /// Number of entries in the checkpoint's log.
    pub size: u64,
    /// The root hash in hex.
    pub root: String,
    /// Entries whose hash was verified.
    pub entries: u64,
    /// The first and last position in the export.
    pub sequences: Option<(u64, u64)>,
    /// Number of positions in between that are missing, because they did not match the filter or were removed.
    pub left_out: u64,
    /// Number of findings.
    pub count: usize,
    /// The first 1,000 findings.
    pub findings: Vec<Finding>,
}

// A member that the proof does not cover must not pass as proved, so every other member makes a line unreadable.

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    checkpoint: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineActor {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    /// The name at the time of the export. The proof does not cover it.
    #[serde(rename = "name")]
    _name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LineProof {
    sequence: u64,
    path: Vec<String>,
    ip_salt: Option<String>,
    ip_commitment: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExportedEntry {
    id: String,
    timestamp: String,
    actor: LineActor,
    action: String,
    resource_type: String,
    resource_id: String,
    ip: Option<String>,
    metadata: Box<RawValue>,
    proof: Option<LineProof>,
}

impl ExportedEntry {
    /// Verifies the entry's proof; `None` if the entry is malformed.
    fn proved(self, proof: &LineProof, tenant: &str, checkpoint: &Checkpoint) -> Option<bool> {
        let bytes = |text: &Option<String>| match text {
            None => Some(None),
            Some(text) => BASE64.decode(text.as_bytes()).ok().map(Some),
        };
        let path: Option<Vec<Hash>> = proof
            .path
            .iter()
            .map(|hash| BASE64.decode(hash.as_bytes()).ok().and_then(|hash| hash.try_into().ok()))
            .collect();
        let entry = StoredEntry {
            timestamp: self.timestamp.parse().ok()?,
            actor_type: self.actor.kind,
            actor_id: self.actor.id,
            action: self.action,
            resource_type: self.resource_type,
            resource_id: self.resource_id,
            ip: self.ip,
            metadata: self.metadata.get().to_owned(),
            leaf: [0; 32],
            salt: bytes(&proof.ip_salt)?,
            ip_commitment: bytes(&proof.ip_commitment)?,
            mac: None,
            id: self.id,
        };
        // The hash covers the text of the timestamp, so another spelling of the same time is a change.
        if entry.timestamp.to_string() != self.timestamp {
            return Some(false);
        }
        let Some(leaf) = entry.content_leaf(tenant) else { return Some(false) };
        Some(verify_inclusion(&leaf, proof.sequence, checkpoint.size, &path?, &checkpoint.root))
    }
}

/// Returns the tenant that an export with proofs names. Nothing is verified, so it only serves to select the keys.
pub fn exported_tenant(mut export: impl BufRead) -> io::Result<Option<String>> {
    let head = line(&mut export)?.and_then(Line::text);
    let head: Option<Head> = head.and_then(|head| serde_json::from_str(&head).ok());
    let checkpoint = head.and_then(|head| Checkpoint::read(&head.checkpoint).ok());
    Ok(checkpoint.and_then(|checkpoint| checkpoint.tenant().map(str::to_owned)))
}

/// Verifies an export with proofs: the signature of its checkpoint, and the proof of each entry. An unreadable line,
/// also one with an unknown member, is a finding, and the following lines are still verified. Only the name of the
/// actor (`actor.name`) is not covered by the proof.
///
/// Exported entries have no MAC. The proof shows that the entry is in the signed log, and sealing has verified its
/// MAC.
pub fn verify_export(
    mut export: impl BufRead,
    keys: &[CheckpointKey],
) -> Result<VerifiedExport, ExportError> {
    let head = line(&mut export)?.and_then(Line::text).ok_or(ExportError::NoCheckpoint)?;
    let head: Head = serde_json::from_str(&head).map_err(|_| ExportError::NoCheckpoint)?;
    let checkpoint = Checkpoint::verified(&head.checkpoint, keys)?;
    let tenant = checkpoint.tenant().ok_or(NoteError::Malformed)?.to_owned();
    let mut result = VerifiedExport {
        size: checkpoint.size,
        root: HEXLOWER.encode(&checkpoint.root),
        tenant: tenant.clone(),
        ..VerifiedExport::default()
    };
    let (mut seen, mut number) = (BTreeSet::new(), 1);
    while let Some(line) = line(&mut export)? {
        number += 1;
        result.entries += 1;
        let finding = match line.text().and_then(|text| proved(&text, &tenant, &checkpoint)) {
            Some(CheckedProof { sequence, is_right: true, .. }) if seen.insert(sequence) => continue,
            Some(CheckedProof { id, sequence, .. }) => Finding::Changed { sequence, id },
            None => Finding::UnreadableLine { line: number },
        };
        result.count += 1;
        if result.findings.len() < MOST {
            result.findings.push(finding);
        }
    }
    result.sequences = seen.first().copied().zip(seen.last().copied());
    result.left_out = result.sequences.map_or(0, |(first, last)| last - first + 1 - seen.len() as u64);
    Ok(result)
}

/// An exported entry and the result of its proof.
struct CheckedProof {
    id: String,
    sequence: u64,
    is_right: bool,
}

/// Verifies a line; `None` if it is not an entry with a proof.
fn proved(text: &str, tenant: &str, checkpoint: &Checkpoint) -> Option<CheckedProof> {
    let mut entry: ExportedEntry = serde_json::from_str(text).ok()?;
    // In an export with proofs every entry has one.
    let proof = entry.proof.take()?;
    let (id, sequence) = (entry.id.clone(), proof.sequence);
    let is_right = entry.proved(&proof, tenant, checkpoint)?;
    Some(CheckedProof { id, sequence, is_right })
}

/// A line of an export.
enum Line {
    Text(String),
    /// Too long, or not UTF-8.
    Unreadable,
}

impl Line {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Unreadable => None,
        }
    }
}

/// Reads the next line; `None` at the end.
fn line(export: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    let read = io::Read::take(&mut *export, MAX_LINE).read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    if read as u64 >= MAX_LINE && !bytes.ends_with(b"\n") {
        // Skips the rest of the line.
        export.skip_until(b'\n')?;
        return Ok(Some(Line::Unreadable));
    }
    Ok(Some(String::from_utf8(bytes).map_or(Line::Unreadable, Line::Text)))
}
