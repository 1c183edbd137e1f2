//! Checkpoints: signed states of a log, as C2SP signed notes (tlog-checkpoint, signed-note) with Ed25519.

use crate::error::NoteError;
use std::fmt;

use data_encoding::BASE64;
use kernel::{MasterKeys, Secret};
use ring::{
    hkdf,
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};

use super::{
    merkle::Hash,
    note::{self, VerifierKey, signature_line, split_note},
};

/// The prefix of every log's origin, which is also the name of its signing key.
const ORIGIN: &str = "gatehouse/audit/";
/// The algorithm id of Ed25519 in signed notes.
const ALGORITHM: u8 = 1;

/// The state of a log at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's origin: `gatehouse/audit/` and the tenant.
    pub origin: String,
    /// Number of entries.
    pub size: u64,
    /// The root hash of the tree.
    pub root: Hash,
}

impl Checkpoint {
    /// Creates the checkpoint of a tenant's log.
    pub fn new(tenant: &str, size: u64, root: Hash) -> Self {
        Self { origin: format!("{ORIGIN}{tenant}"), size, root }
    }

    /// Returns the tenant of the log.
    pub fn tenant(&self) -> Option<&str> {
        self.origin.strip_prefix(ORIGIN)
    }

    /// Returns the text to sign.
    fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, BASE64.encode(&self.root))
    }

    /// Parses a note without verifying its signature.
    pub fn read(note: &str) -> Result<Self, NoteError> {
        Self::parts(note).map(|(checkpoint, _, _)| checkpoint)
    }

    /// Parses a note into the checkpoint, the signed text, and the signatures.
    pub(super) fn parts(note: &str) -> Result<(Self, &str, &str), NoteError> {
        let (text, signatures) = split_note(note)?;
        let mut lines = text.lines();
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(NoteError::Malformed);
        };
        let canonical = |size: &u64| size.to_string();
        let size: u64 =
            size.parse().ok().filter(|number| canonical(number) == size).ok_or(NoteError::Malformed)?;
        let root = note::decode(root).and_then(|root| root.try_into().ok());
        let root = root.filter(|_| !origin.is_empty()).ok_or(NoteError::Malformed)?;
        Ok((Self { origin: origin.to_owned(), size, root }, text, signatures))
    }

    /// Parses a note and verifies that one of these keys has signed it.
    pub fn verified(note: &str, keys: &[CheckpointKey]) -> Result<Self, NoteError> {
        Self::with_verified_note(note, keys).map(|(checkpoint, _)| checkpoint)
    }

    /// Parses and verifies a note. Returns also the note with only the signatures of these keys.
    pub(super) fn with_verified_note(
        note: &str,
        keys: &[CheckpointKey],
    ) -> Result<(Self, String), NoteError> {
        let (checkpoint, text, signatures) = Self::parts(note)?;
        let tenant = checkpoint.tenant().ok_or(NoteError::UnknownKey)?;
        let lines = verify_signatures(text, signatures, tenant, keys)?;
        let note = format!("{text}\n{lines}");
        Ok((checkpoint, note))
    }
}

/// Verifies the signatures of a text by keys of this tenant's log. Returns their lines. At least one must be there, and none
/// invalid.
pub(super) fn verify_signatures(
    text: &str,
    signatures: &str,
    tenant: &str,
    keys: &[CheckpointKey],
) -> Result<String, NoteError> {
    let mut lines = String::new();
    for signature in note::signatures(signatures)? {
        let is_tenants = |key: &&CheckpointKey| key.0.name.strip_prefix(ORIGIN) == Some(tenant);
        if let Some(CheckpointKey(key)) = keys.iter().find(|key| key.0.is_of(&signature)).filter(is_tenants) {
            let public = UnparsedPublicKey::new(&ED25519, key.public);
            public.verify(text.as_bytes(), &signature.signature).map_err(|_| NoteError::Signature)?;
            lines.push_str(&signature_line(key, &signature.signature));
        }
    }
    if lines.is_empty() { Err(NoteError::UnknownKey) } else { Ok(lines) }
}

/// The public key of a log. `Display` writes it as `name+id+key` (a C2SP verifier key).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointKey(VerifierKey);

impl CheckpointKey {
    /// Parses the `name+id+key` format.
    pub fn parse(text: &str) -> Option<Self> {
        VerifierKey::parse(text, ALGORITHM).map(Self)
    }

    /// Returns the name of the key, which is the origin of the log.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the public key.
    pub(super) fn public(&self) -> &[u8; 32] {
        &self.0.public
    }
}

impl fmt::Display for CheckpointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The keys that sign checkpoints, newest first. Each is derived from a master key by HKDF-SHA256 (RFC 5869).
pub struct CheckpointKeys(Vec<Ed25519KeyPair>);

impl fmt::Debug for CheckpointKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckpointKeys({})", self.0.len())
    }
}

impl CheckpointKeys {
    /// Derives the keys from the master keys.
    pub fn derive(masters: &MasterKeys) -> Self {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"gatehouse checkpoints");
        let derive = |master: &Secret<Vec<u8>>| {
            let extracted = salt.extract(master.expose());
            let mut seed = [0; 32];
            extracted.expand(&[b"ed25519"], hkdf::HKDF_SHA256).ok()?.fill(&mut seed).ok()?;
            Ed25519KeyPair::from_seed_unchecked(&seed).ok()
        };
        Self(masters.iter().filter_map(|(_, master)| derive(master)).collect())
    }

    /// Returns the note of a checkpoint, signed with the newest key; `None` without a key.
    pub fn sign(&self, checkpoint: &Checkpoint) -> Option<String> {
        self.sign_as(&checkpoint.origin, &checkpoint.text())
    }

    /// Returns the note of a text about a tenant's log, signed with the newest key; `None` without a key.
    pub(super) fn sign_text(&self, tenant: &str, text: &str) -> Option<String> {
        self.sign_as(&format!("{ORIGIN}{tenant}"), text)
    }

    fn sign_as(&self, origin: &str, text: &str) -> Option<String> {
        let pair = self.0.first()?;
        let signature = pair.sign(text.as_bytes());
        let line = signature_line(&public(origin, pair)?.0, signature.as_ref());
        Some(format!("{text}\n{line}"))
    }

    /// Returns the public keys of a tenant's log, newest first.
    pub fn of(&self, tenant: &str) -> Vec<CheckpointKey> {
        let origin = format!("{ORIGIN}{tenant}");
        self.0.iter().filter_map(|pair| public(&origin, pair)).collect()
    }
}

fn public(origin: &str, pair: &Ed25519KeyPair) -> Option<CheckpointKey> {
    let public = pair.public_key().as_ref().try_into().ok()?;
    Some(CheckpointKey(VerifierKey { name: origin.to_owned(), algorithm: ALGORITHM, public }))
}
