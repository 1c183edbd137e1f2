//! Verifying an export with proofs, with nothing but the key.

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

/// Bytes of a line at most.
const MAX_LINE: u64 = 1024 * 1024;
/// Findings that are told of at most; all are counted.
const MOST: usize = 1000;

/// What an export turned out to be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedExport {
    /// The tenant whose log it is of.
    pub tenant: String,
    /// Entries in the log of its checkpoint.
    pub size: u64,
    /// The root over them, in hex.
    pub root: String,
    /// Entries that were hashed again.
    pub entries: u64,
    /// The first place of the log that is in it, and the last one.
    pub sequences: Option<(u64, u64)>,
    /// Places between these that are not: what was not asked for, or was taken out.
    pub left_out: u64,
    /// How much is not as it was sealed.
    pub count: usize,
    /// The first thousand of it.
    pub findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Head {
    checkpoint: String,
}

#[derive(Deserialize)]
struct LineActor {
    id: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineProof {
    sequence: u64,
    path: Vec<String>,
    ip_salt: Option<String>,
    ip_commitment: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
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
    /// Whether the entry stands at its place in the log; `None` if something of it is not written as it has to be.
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
        // Written otherwise it is another text, though it may be the same time.
        if entry.timestamp.to_string() != self.timestamp {
            return Some(false);
        }
        let Some(leaf) = entry.content_leaf(tenant) else { return Some(false) };
        Some(verify_inclusion(&leaf, proof.sequence, checkpoint.size, &path?, &checkpoint.root))
    }
}

/// Verifies an export that was made with proofs: its checkpoint with these keys, each entry with its proof. A line that cannot
/// be read is a finding, and the lines behind it are verified.
///
/// Entries of an export have no MAC: each is proved to be in the signed log, and sealing verified its MAC.
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

/// An entry of an export, and whether its proof is right.
struct CheckedProof {
    id: String,
    sequence: u64,
    is_right: bool,
}

/// Looks at one line; `None` where it is no entry with a proof.
fn proved(text: &str, tenant: &str, checkpoint: &Checkpoint) -> Option<CheckedProof> {
    let mut entry: ExportedEntry = serde_json::from_str(text).ok()?;
    // Such an export has no entry without a proof.
    let proof = entry.proof.take()?;
    let (id, sequence) = (entry.id.clone(), proof.sequence);
    let is_right = entry.proved(&proof, tenant, checkpoint)?;
    Some(CheckedProof { id, sequence, is_right })
}

/// A line as it was read.
enum Line {
    Text(String),
    /// Longer than a line may be, or not UTF-8.
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

/// The next line; `None` at the end.
fn line(export: &mut impl BufRead) -> Result<Option<Line>, ExportError> {
    let mut bytes = Vec::new();
    let read = io::Read::take(&mut *export, MAX_LINE).read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    if read as u64 >= MAX_LINE && !bytes.ends_with(b"\n") {
        // The rest of it goes, too: the next line begins behind it.
        export.skip_until(b'\n')?;
        return Ok(Some(Line::Unreadable));
    }
    Ok(Some(String::from_utf8(bytes).map_or(Line::Unreadable, Line::Text)))
}
