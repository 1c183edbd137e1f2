//! Master keys, validated once so that no key is derived from an empty or short one.

use std::{fmt, str::FromStr};

use data_encoding::BASE64;

use crate::{Env, Secret};

/// Master keys with their ids, newest first. All keys of an installation are derived from them.
///
/// No key of a value is shorter than [`MasterKeys::MIN_BYTES`]. An unset variable is therefore a configuration error,
/// not a key that anybody can compute.
///
/// ```
/// # use kernel::{InvalidMasterKey, MasterKeys, Secret};
/// let unset = vec![("2026".to_owned(), Secret::new(Vec::new()))];
/// assert_eq!(MasterKeys::new(unset).err(), Some(InvalidMasterKey::TooShort("2026".to_owned())));
/// ```
#[derive(Clone, Default)]
pub struct MasterKeys(Vec<(String, Secret<Vec<u8>>)>);

/// The reason for refusing master keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidMasterKey {
    /// The id is empty, too long, or contains a character that separates the parts of a token.
    #[error("the ID {0:?} of a master key has to be 1 to 32 ASCII letters and digits")]
    Id(String),
    /// Two keys have the same id.
    #[error("two master keys have the ID {0}; rename or remove one")]
    Duplicate(String),
    /// The key is too short.
    #[error("the master key {0} is too short; use at least {min} bytes", min = MasterKeys::MIN_BYTES)]
    TooShort(String),
}

/// The reason for refusing master keys that an operator wrote. `Debug` writes the whole sentence, for a `main` that returns
/// it.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseMasterKeysError {
    /// A key is not base64 of 32 bytes, or the bytes are not random.
    #[error("write base64 of 32 random bytes; generate them with: openssl rand -base64 32")]
    Key,
    /// An id is missing, repeated or invalid.
    #[error("write id:key,id:key with unique IDs of letters and digits")]
    Ids,
}

impl fmt::Debug for ParseMasterKeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "master keys: {self}")
    }
}

/// Minimum number of different bytes of a key. Random keys have more.
const DISTINCT_BYTES: usize = 10;

impl FromStr for MasterKeys {
    type Err = ParseMasterKeysError;

    /// Parses `id:key,id:key`, newest first, with keys in base64. A key without an id has the id `1`.
    fn from_str(text: &str) -> Result<Self, ParseMasterKeysError> {
        let mut keys = Vec::new();
        for word in text.split(',') {
            let (id, key) = word.trim().split_once(':').unwrap_or(("1", word.trim()));
            let bytes = BASE64.decode(key.as_bytes()).map_err(|_| ParseMasterKeysError::Key)?;
            let distinct: std::collections::BTreeSet<_> = bytes.iter().collect();
            if bytes.len() != Self::MIN_BYTES || distinct.len() < DISTINCT_BYTES {
                return Err(ParseMasterKeysError::Key);
            }
            keys.push((id.to_owned(), Secret::new(bytes)));
        }
        Self::new(keys).map_err(|_| ParseMasterKeysError::Ids)
    }
}

impl MasterKeys {
    /// Minimum length of a key in bytes: the output of SHA-256, as RFC 2104 §3 recommends.
    pub const MIN_BYTES: usize = 32;

    /// Validates keys with their ids, newest first.
    pub fn new(keys: Vec<(String, Secret<Vec<u8>>)>) -> Result<Self, InvalidMasterKey> {
        let mut ids = std::collections::BTreeSet::new();
        for (id, key) in &keys {
            if !(1..=32).contains(&id.len()) || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                return Err(InvalidMasterKey::Id(id.clone()));
            }
            if !ids.insert(id) {
                return Err(InvalidMasterKey::Duplicate(id.clone()));
            }
            if key.expose().len() < Self::MIN_BYTES {
                return Err(InvalidMasterKey::TooShort(id.clone()));
            }
        }
        Ok(Self(keys))
    }

    /// Creates one random key. Everything that it signs or seals is lost with it.
    pub fn random(env: &dyn Env) -> Self {
        let mut bytes = vec![0; Self::MIN_BYTES];
        env.fill(&mut bytes);
        Self(vec![("random".to_owned(), Secret::new(bytes))])
    }

    /// Creates an empty set, which signs and verifies nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys with their ids, newest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Secret<Vec<u8>>)> {
        self.0.iter().map(|(id, key)| (id.as_str(), key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn master_keys_are_32_bytes_with_ids() {
        let parse = |text: &str| text.parse::<MasterKeys>();
        let key = BASE64.encode(&(0..32).collect::<Vec<u8>>());
        let ids = |text: &str| parse(text).map(|ring| ring.iter().map(|(id, _)| id.to_owned()).collect());
        assert_eq!(ids(&key), Ok(vec!["1".to_owned()]));
        assert_eq!(ids(&format!("b:{key}, a:{key}")), Ok(vec!["b".to_owned(), "a".to_owned()]));
        for weak in ["", "abc", &BASE64.encode(&[0; 32]), &BASE64.encode(&[1; 31])] {
            assert_eq!(parse(weak).err(), Some(ParseMasterKeysError::Key), "{weak}");
        }
        for ring in [format!("a:{key},a:{key}"), format!("a.b:{key}"), format!("{key},{key}")] {
            assert_eq!(parse(&ring).err(), Some(ParseMasterKeysError::Ids), "{ring}");
        }
    }

    #[test]
    fn empty_short_and_ambiguous_keys_are_refused() {
        let made = |keys: &[(&str, usize)]| {
            let keys = keys.iter().map(|(id, bytes)| ((*id).to_owned(), Secret::new(vec![7; *bytes])));
            MasterKeys::new(keys.collect()).err()
        };
        assert_eq!(made(&[("a", 32), ("b", 64)]), None);
        assert_eq!(made(&[]), None);
        for bytes in [0, 1, 31] {
            assert_eq!(made(&[("a", 32), ("b", bytes)]), Some(InvalidMasterKey::TooShort("b".into())));
        }
        assert_eq!(made(&[("a", 32), ("a", 32)]), Some(InvalidMasterKey::Duplicate("a".into())));
        for id in ["", "a.b", "a b", &"a".repeat(33)] {
            assert_eq!(made(&[(id, 32)]), Some(InvalidMasterKey::Id(id.into())));
        }
    }
}
