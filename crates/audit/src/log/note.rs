//! Signed notes and verifier keys (C2SP signed-note).

use std::fmt;

use data_encoding::{BASE64, HEXLOWER};
use ring::digest::{SHA256, digest};

use crate::error::NoteError;

/// Maximum size of a note, in bytes. It has room for 16 signatures of any kind.
pub(super) const MAX_NOTE: usize = 64 * 1024;
/// What signature lines begin with.
const DASH: &str = "— ";

/// Splits a note into the signed text and its signatures.
pub(super) fn split_note(note: &str) -> Result<(&str, &str), NoteError> {
    let is_note = note.len() <= MAX_NOTE && note.ends_with('\n') && !note.contains('\r');
    let at = note.rfind("\n\n").filter(|_| is_note).ok_or(NoteError::Malformed)?;
    Ok(note.split_at(at + 1))
}

/// Decodes base64 in its only form: the library also accepts padding in the middle.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text.as_bytes()).ok().filter(|bytes| BASE64.encode(bytes) == text)
}

/// A signature of a note.
pub(super) struct NoteSignature<'n> {
    pub(super) name: &'n str,
    pub(super) id: [u8; 4],
    pub(super) signature: Vec<u8>,
}

/// Parses the signatures of a note.
pub(super) fn signatures(lines: &str) -> Result<Vec<NoteSignature<'_>>, NoteError> {
    lines.lines().filter(|line| !line.is_empty()).map(signature).collect()
}

fn signature(line: &str) -> Result<NoteSignature<'_>, NoteError> {
    let mut words = line.strip_prefix(DASH).ok_or(NoteError::Malformed)?.split(' ');
    let (Some(name), Some(signature), None) = (words.next(), words.next(), words.next()) else {
        return Err(NoteError::Malformed);
    };
    let bytes = decode(signature).ok_or(NoteError::Malformed)?;
    let (id, signature) = bytes.split_first_chunk::<4>().ok_or(NoteError::Malformed)?;
    Ok(NoteSignature { name, id: *id, signature: signature.to_vec() })
}

/// Returns the line of a signature, with a line break at the end.
pub(super) fn signature_line(key: &VerifierKey, signature: &[u8]) -> String {
    format!("{DASH}{} {}\n", key.name, BASE64.encode(&[key.id().as_slice(), signature].concat()))
}

/// The public key of a signer of notes. `Display` writes it as `name+id+key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VerifierKey {
    pub(super) name: String,
    /// The kind of signature.
    pub(super) algorithm: u8,
    pub(super) public: [u8; 32],
}

impl VerifierKey {
    /// Parses the `name+id+key` format of a key for this kind of signature.
    pub(super) fn parse(text: &str, algorithm: u8) -> Option<Self> {
        let mut parts = text.trim().splitn(3, '+');
        let (name, id, key) = (parts.next()?, parts.next()?, parts.next()?);
        let key = decode(key)?;
        let (kind, public) = key.split_first()?;
        let key = Self { name: name.to_owned(), algorithm, public: public.try_into().ok()? };
        (*kind == algorithm && is_key_name(name) && HEXLOWER.encode(&key.id()) == id).then_some(key)
    }

    pub(super) fn id(&self) -> [u8; 4] {
        let bytes = [self.name.as_bytes(), &[b'\n', self.algorithm], &self.public].concat();
        let hash = digest(&SHA256, &bytes);
        hash.as_ref().first_chunk().copied().unwrap_or_default()
    }

    /// Returns whether a signature names this key.
    pub(super) fn is_of(&self, signature: &NoteSignature<'_>) -> bool {
        self.name == signature.name && self.id() == signature.id
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = [&[self.algorithm], self.public.as_slice()].concat();
        write!(f, "{}+{}+{}", self.name, HEXLOWER.encode(&self.id()), BASE64.encode(&key))
    }
}

/// Returns whether a text can be the name of a key: neither empty nor with spaces or `+`.
pub(super) fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|letter: char| letter.is_whitespace() || letter == '+')
}
