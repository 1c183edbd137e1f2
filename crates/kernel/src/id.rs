//! Identifiers: a type prefix and 26 characters that sort by time and cannot be guessed.

use std::{cmp, fmt, hash, marker::PhantomData, str::FromStr, sync::LazyLock};

use data_encoding::{Encoding, Specification};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Env;

/// Crockford's base32 in lower case: no `i`, `l`, `o`, `u`. The order of texts is the order of bytes.
static BASE32: LazyLock<Encoding> = LazyLock::new(|| {
    let mut spec = Specification::new();
    spec.symbols.push_str("0123456789abcdefghjkmnpqrstvwxyz");
    #[expect(clippy::expect_used, reason = "a constant alphabet, covered by every test that creates an ID")]
    spec.encoding().expect("the alphabet has 32 distinct symbols")
});

/// Number of characters after `prefix_`: 48 bits of milliseconds and 80 random bits.
const KEY_LEN: usize = 26;

/// The kind of object that an [`Id`] identifies.
pub trait Kind: 'static {
    /// The letters before the underscore, such as `usr`.
    const PREFIX: &'static str;
}

/// The kind of [`TenantId`].
#[derive(Debug, Clone, Copy)]
pub enum Tenant {}
impl Kind for Tenant {
    const PREFIX: &'static str = "ten";
}
/// `ten_…`
pub type TenantId = Id<Tenant>;

/// The kind of [`UserId`]. The SCIM user has the same id.
#[derive(Debug, Clone, Copy)]
pub enum User {}
impl Kind for User {
    const PREFIX: &'static str = "usr";
}
/// `usr_…`
pub type UserId = Id<User>;

/// The kind of group ids.
#[derive(Debug, Clone, Copy)]
pub enum Group {}
impl Kind for Group {
    const PREFIX: &'static str = "grp";
}
/// `grp_…`
pub type GroupId = Id<Group>;

/// An identifier of a `K`: `prefix_` and 26 characters. Opaque to clients.
pub struct Id<K> {
    text: Box<str>,
    kind: PhantomData<fn() -> K>,
}

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write an ID of the form {0}_…")]
pub struct ParseIdError(&'static str);

impl<K: Kind> Id<K> {
    /// Creates an id from the time of `env` in milliseconds and 80 random bits.
    pub fn new(env: &dyn Env) -> Self {
        let mut bytes = [0_u8; 16];
        env.fill(&mut bytes);
        let millis = env.now().unix_millis().to_be_bytes();
        for (to, from) in bytes.iter_mut().zip(millis.into_iter().skip(2)) {
            *to = from;
        }
        Self::from_text(format!("{}_{}", K::PREFIX, BASE32.encode(&bytes)))
    }

    /// Returns a lower bound of all ids created at this time or later.
    pub fn first_at(time: crate::Timestamp) -> Self {
        let mut bytes = [0_u8; 16];
        for (to, from) in bytes.iter_mut().zip(time.unix_millis().max(0).to_be_bytes().into_iter().skip(2)) {
            *to = from;
        }
        Self::from_text(format!("{}_{}", K::PREFIX, BASE32.encode(&bytes)))
    }

    /// Creates an id from `key`, the part after the underscore, as credentials contain it.
    pub fn from_key(key: &str) -> Result<Self, ParseIdError> {
        format!("{}_{key}", K::PREFIX).parse()
    }

    /// Returns the 26 characters after the underscore.
    pub fn key(&self) -> &str {
        self.text.split_once('_').map_or("", |(_, key)| key)
    }

    /// Returns the creation time, to the millisecond.
    pub fn created_at(&self) -> crate::Timestamp {
        let bytes = BASE32.decode(self.key().as_bytes()).unwrap_or_default();
        let millis = bytes.iter().take(6).fold(0, |millis, byte| millis << 8 | i64::from(*byte));
        crate::Timestamp::from_unix_millis(millis)
    }

    /// Returns the whole text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn from_text(text: String) -> Self {
        Self { text: text.into_boxed_str(), kind: PhantomData }
    }
}

impl<K: Kind> FromStr for Id<K> {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let key = text.strip_prefix(K::PREFIX).and_then(|rest| rest.strip_prefix('_'));
        match key {
            Some(key) if key.len() == KEY_LEN && BASE32.decode(key.as_bytes()).is_ok() => {
                Ok(Self::from_text(text.to_owned()))
            }
            _ => Err(ParseIdError(K::PREFIX)),
        }
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        Self { text: self.text.clone(), kind: PhantomData }
    }
}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        self.text.cmp(&other.text)
    }
}
impl<K> hash::Hash for Id<K> {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}
impl<K> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
impl<K> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
impl<K> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}
impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ManualEnv;

    #[test]
    fn ids_sort_by_time_and_read_back() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let first = UserId::new(&env);
        env.advance_millis(1);
        let second = UserId::new(&env);
        assert!(first < second);
        let bound = UserId::first_at(env.now());
        assert!(first < bound && bound < second);
        assert_eq!(first.as_str().parse::<UserId>().unwrap(), first);
        assert_eq!(UserId::from_key(first.key()).unwrap(), first);
        assert_eq!(first.as_str().len(), 4 + KEY_LEN);
    }

    #[test]
    fn other_prefixes_and_malformed_text_are_refused() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let tenant = TenantId::new(&env);
        for text in
            [tenant.as_str(), "", "usr_", "usr", "usr_01", "usr_ooooooooooooooooooooooooo!", "usr_\u{0}"]
        {
            assert!(text.parse::<UserId>().is_err(), "{text}");
        }
    }
}
