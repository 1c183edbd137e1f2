//! Cosignatures (C2SP tlog-cosignature) with Ed25519.

use std::fmt;

use data_encoding::{BASE64, HEXLOWER};
use kernel::{Env, Secret, Timestamp};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::{
    error::NoteError,
    log::note::{self, VerifierKey, is_key_name, signature_line, split_note},
};

/// The kind of timestamped Ed25519 cosignatures.
const ALGORITHM: u8 = 4;
/// What the text of a private key begins with.
const PRIVATE: &str = "PRIVATE+KEY+";
/// Length of a timestamp in bytes.
const TIME: usize = 8;

/// The public key of a witness. `Display` writes it as `name+id+key` (a C2SP verifier key).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CosignerKey(VerifierKey);

impl CosignerKey {
    /// Parses the `name+id+key` format.
    pub fn parse(text: &str) -> Option<Self> {
        VerifierKey::parse(text, ALGORITHM).map(Self)
    }

    /// Returns the name of the witness.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the public key.
    pub(super) fn public(&self) -> &[u8; 32] {
        &self.0.public
    }
}

impl fmt::Display for CosignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The private key of a witness.
pub struct Cosigner {
    key: CosignerKey,
    pair: Ed25519KeyPair,
}

impl fmt::Debug for Cosigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cosigner({})", self.key.name())
    }
}

impl Cosigner {
    /// Generates the key of a witness with this name, such as `witness.example/acme`. Returns it and its text:
    /// `PRIVATE+KEY+name+id+key`. `None` if the name is empty or has spaces or `+`.
    pub fn generate(env: &dyn Env, name: &str) -> Option<(Self, Secret<String>)> {
        let mut seed = [0; 32];
        env.fill(&mut seed);
        let seed = Secret::new(seed);
        let cosigner = Self::of_seed(name, &seed)?;
        let private = Secret::new([&[ALGORITHM], seed.expose().as_slice()].concat());
        let id = HEXLOWER.encode(&cosigner.key.0.id());
        let text = format!("{PRIVATE}{name}+{id}+{}", BASE64.encode(private.expose()));
        Some((cosigner, Secret::new(text)))
    }

    /// Parses a private key.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().strip_prefix(PRIVATE)?.splitn(3, '+');
        let (name, id, key) = (parts.next()?, parts.next()?, parts.next()?);
        let bytes = Secret::new(BASE64.decode(key.as_bytes()).ok()?);
        let (algorithm, seed) = bytes.expose().split_first()?;
        let cosigner = Self::of_seed(name, &Secret::new(seed.try_into().ok()?))?;
        let has_id = HEXLOWER.encode(&cosigner.key.0.id()) == id;
        (*algorithm == ALGORITHM && has_id).then_some(cosigner)
    }

    fn of_seed(name: &str, seed: &Secret<[u8; 32]>) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.expose()).ok()?;
        let public = pair.public_key().as_ref().try_into().ok()?;
        let key = CosignerKey(VerifierKey { name: name.to_owned(), algorithm: ALGORITHM, public });
        is_key_name(name).then_some(Self { key, pair })
    }

    /// Returns the public key.
    pub fn key(&self) -> &CosignerKey {
        &self.key
    }

    /// Returns the line that cosigns a checkpoint at this time. Fails if the checkpoint is not a note.
    pub fn cosign(&self, checkpoint: &str, now: Timestamp) -> Result<String, NoteError> {
        let (text, _) = split_note(checkpoint)?;
        let seconds = u64::try_from(now.unix_millis() / 1000).unwrap_or_default();
        let signature = self.pair.sign(message(text, seconds).as_bytes());
        Ok(signature_line(&self.key.0, &[&seconds.to_be_bytes(), signature.as_ref()].concat()))
    }
}

fn message(text: &str, seconds: u64) -> String {
    format!("cosignature/v1\ntime {seconds}\n{text}")
}

/// A valid cosignature of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cosignature {
    /// The key that signed.
    pub key: CosignerKey,
    /// When it signed.
    pub at: Timestamp,
}

/// Returns the cosignatures of a checkpoint by these keys. Signatures by other keys are ignored; one that names a key of
/// these and is invalid makes the note invalid.
pub fn cosignatures(note: &str, keys: &[CosignerKey]) -> Result<Vec<Cosignature>, NoteError> {
    let (text, lines) = split_note(note)?;
    let mut found = Vec::new();
    for signature in note::signatures(lines)? {
        let Some(key) = keys.iter().find(|key| key.0.is_of(&signature)) else { continue };
        let (time, bytes) = signature.signature.split_first_chunk::<TIME>().ok_or(NoteError::Signature)?;
        let seconds = u64::from_be_bytes(*time);
        let public = UnparsedPublicKey::new(&ED25519, key.0.public);
        public.verify(message(text, seconds).as_bytes(), bytes).map_err(|_| NoteError::Signature)?;
        let millis = i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1000));
        let at = Timestamp::from_unix_millis(millis.ok_or(NoteError::Signature)?);
        found.push(Cosignature { key: key.clone(), at });
    }
    Ok(found)
}
