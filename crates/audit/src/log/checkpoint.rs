//! Checkpoints: signed states of a log, as C2SP signed notes (tlog-checkpoint, signed-note) with Ed25519.

use crate::error::NoteError;
use std::fmt;

use data_encoding::{BASE64, HEXLOWER};
use kernel::{MasterKeys, Secret};
use ring::{
    digest::{SHA256, digest},
    hkdf,
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};

use super::merkle::Hash;

/// The prefix of every log's origin, which is also the name of its signing key.
const ORIGIN: &str = "gatehouse/audit/";
/// The algorithm id of Ed25519 in signed notes.
const ALGORITHM: u8 = 1;
/// Maximum size of a note, in bytes.
pub(super) const MAX_NOTE: usize = 4096;

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
    fn parts(note: &str) -> Result<(Self, &str, &str), NoteError> {
        let (text, signatures) = split_note(note)?;
        let mut lines = text.lines();
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(NoteError::Malformed);
        };
        let canonical = |size: &u64| size.to_string();
        let size: u64 =
            size.parse().ok().filter(|number| canonical(number) == size).ok_or(NoteError::Malformed)?;
        let root = BASE64.decode(root.as_bytes()).ok().and_then(|root| root.try_into().ok());
        let root = root.filter(|_| !origin.is_empty()).ok_or(NoteError::Malformed)?;
        Ok((Self { origin: origin.to_owned(), size, root }, text, signatures))
    }

    /// Parses a note and verifies that one of these keys has signed it.
    pub fn verified(note: &str, keys: &[CheckpointKey]) -> Result<Self, NoteError> {
        let (checkpoint, text, signatures) = Self::parts(note)?;
        verify_signatures(text, signatures, checkpoint.tenant().ok_or(NoteError::UnknownKey)?, keys)?;
        Ok(checkpoint)
    }
}

/// Splits a note into the signed text and its signatures.
pub(super) fn split_note(note: &str) -> Result<(&str, &str), NoteError> {
    let is_note = note.len() <= MAX_NOTE && note.ends_with('\n') && !note.contains('\r');
    let at = note.rfind("\n\n").filter(|_| is_note).ok_or(NoteError::Malformed)?;
    Ok(note.split_at(at + 1))
}

/// Verifies that one of these keys, belonging to this tenant's log, has signed a text.
pub(super) fn verify_signatures(
    text: &str,
    signatures: &str,
    tenant: &str,
    keys: &[CheckpointKey],
) -> Result<(), NoteError> {
    for line in signatures.lines().filter(|line| !line.is_empty()) {
        let mut words = line.strip_prefix("— ").ok_or(NoteError::Malformed)?.split(' ');
        let (Some(name), Some(signature), None) = (words.next(), words.next(), words.next()) else {
            return Err(NoteError::Malformed);
        };
        let bytes = BASE64.decode(signature.as_bytes()).map_err(|_| NoteError::Malformed)?;
        let Some((id, signature)) = bytes.split_first_chunk::<4>() else {
            return Err(NoteError::Malformed);
        };
        let is_named = |key: &&CheckpointKey| key.name == name && key.id() == *id;
        let is_tenants = |key: &&CheckpointKey| key.name.strip_prefix(ORIGIN) == Some(tenant);
        if let Some(key) = keys.iter().find(is_named).filter(is_tenants) {
            let key = UnparsedPublicKey::new(&ED25519, key.public);
            return key.verify(text.as_bytes(), signature).map_err(|_| NoteError::Signature);
        }
    }
    Err(NoteError::UnknownKey)
}

/// The public key of a log. `Display` writes it as `name+id+key` (a C2SP verifier key).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointKey {
    name: String,
    public: [u8; 32],
}

impl CheckpointKey {
    /// Parses the `name+id+key` format.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().splitn(3, '+');
        let (name, id, key) = (parts.next()?, parts.next()?, parts.next()?);
        let key = BASE64.decode(key.as_bytes()).ok()?;
        let (ALGORITHM, public) = key.split_first().map(|(algorithm, public)| (*algorithm, public))? else {
            return None;
        };
        let key = Self { name: name.to_owned(), public: public.try_into().ok()? };
        (!name.is_empty() && HEXLOWER.encode(&key.id()) == id).then_some(key)
    }

    fn id(&self) -> [u8; 4] {
        let bytes = [self.name.as_bytes(), &[b'\n', ALGORITHM], &self.public].concat();
        let hash = digest(&SHA256, &bytes);
        hash.as_ref().first_chunk().copied().unwrap_or_default()
    }
}

impl fmt::Display for CheckpointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = [&[ALGORITHM], self.public.as_slice()].concat();
        write!(f, "{}+{}+{}", self.name, HEXLOWER.encode(&self.id()), BASE64.encode(&key))
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
        let key = public(origin, pair)?;
        let line = BASE64.encode(&[key.id().as_slice(), signature.as_ref()].concat());
        Some(format!("{text}\n— {origin} {line}\n"))
    }

    /// Returns the public keys of a tenant's log, newest first.
    pub fn of(&self, tenant: &str) -> Vec<CheckpointKey> {
        let origin = format!("{ORIGIN}{tenant}");
        self.0.iter().filter_map(|pair| public(&origin, pair)).collect()
    }
}

fn public(origin: &str, pair: &Ed25519KeyPair) -> Option<CheckpointKey> {
    let public = pair.public_key().as_ref().try_into().ok()?;
    Some(CheckpointKey { name: origin.to_owned(), public })
}
