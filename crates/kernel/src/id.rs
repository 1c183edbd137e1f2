//! Identifiers. Those that Gatehouse generates are a type prefix and 26 characters that sort by time and cannot be
//! guessed. Tenants, users and groups may have the ids of the service that embeds a crate.

use std::{cmp, fmt, hash, marker::PhantomData, str::FromStr, sync::LazyLock};

use data_encoding::{Encoding, HEXLOWER, Specification};
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

/// Maximum length of an id that another service chose, in bytes.
const MAX_LEN: usize = 128;

/// The kind of object that an [`Id`] identifies.
pub trait Kind: 'static {
    /// The letters before the underscore, such as `usr`.
    const PREFIX: &'static str;
    /// Whether the ids of an embedding service are valid: any text of 1 to 128 bytes without control characters and
    /// without spaces at its ends. Otherwise, only ids that [`Id::new`] generates are valid.
    const ACCEPTS_FOREIGN: bool = false;
}

/// The kind of [`TenantId`].
#[derive(Debug, Clone, Copy)]
pub enum Tenant {}
impl Kind for Tenant {
    const PREFIX: &'static str = "ten";
    const ACCEPTS_FOREIGN: bool = true;
}
/// `ten_…`, or the id of an embedding service.
pub type TenantId = Id<Tenant>;

/// The kind of [`UserId`]. The SCIM user has the same id.
#[derive(Debug, Clone, Copy)]
pub enum User {}
impl Kind for User {
    const PREFIX: &'static str = "usr";
    const ACCEPTS_FOREIGN: bool = true;
}
/// `usr_…`, or the id of an embedding service.
pub type UserId = Id<User>;

/// The kind of group ids.
#[derive(Debug, Clone, Copy)]
pub enum Group {}
impl Kind for Group {
    const PREFIX: &'static str = "grp";
    const ACCEPTS_FOREIGN: bool = true;
}
/// `grp_…`, or the id of an embedding service.
pub type GroupId = Id<Group>;

/// An identifier of a `K`. Opaque to clients.
///
/// [`Id::new`] generates `prefix_` and 26 characters. The ids of tenants, users and groups may also come from the
/// service that embeds a crate, as text, as a number, or as the 16 bytes of a UUID:
///
/// ```
/// # use kernel::UserId;
/// let ada: UserId = "9f1c62e4-7d55-4f0a-8c2e-1f6d1c0b7a11".parse()?;
/// assert_eq!(UserId::from(42), "42".parse()?);
/// assert_eq!(UserId::from(0x9f1c62e4_7d55_4f0a_8c2e_1f6d1c0b7a11_u128.to_be_bytes()), ada);
/// assert!("".parse::<UserId>().is_err());
/// # Ok::<(), kernel::ParseIdError>(())
/// ```
pub struct Id<K> {
    text: Box<str>,
    kind: PhantomData<fn() -> K>,
}

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseIdError {
    /// The kind has generated ids only. Contains its prefix.
    #[error("write an ID of the form {0}_…")]
    NotGenerated(&'static str),
    /// The text is empty, longer than 128 bytes, has control characters, or starts or ends with a space.
    #[error("write an ID of 1 to 128 bytes, without control characters and without spaces at its ends")]
    Malformed,
}

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

    /// Parses the whole text of a generated id. Unlike [`str::parse`], it refuses the ids of an embedding service.
    ///
    /// # Errors
    ///
    /// [`ParseIdError::NotGenerated`].
    pub fn generated(text: &str) -> Result<Self, ParseIdError> {
        let key = Self::generated_key(text).ok_or(ParseIdError::NotGenerated(K::PREFIX))?;
        Self::from_key(key)
    }

    /// Whether the id has the form of those that [`Id::new`] generates.
    pub fn is_generated(&self) -> bool {
        Self::generated_key(&self.text).is_some()
    }

    /// Creates an id from `key`, the part after the underscore, as credentials contain it.
    pub fn from_key(key: &str) -> Result<Self, ParseIdError> {
        if !is_generated_key(key) {
            return Err(ParseIdError::NotGenerated(K::PREFIX));
        }
        Ok(Self::from_text(format!("{}_{key}", K::PREFIX)))
    }

    /// Returns the 26 characters after the underscore. The key of another service's id is all of it, which
    /// [`Id::from_key`] refuses.
    pub fn key(&self) -> &str {
        Self::generated_key(&self.text).unwrap_or(&self.text)
    }

    /// Returns the creation time, to the millisecond; 1970 for another service's id.
    pub fn created_at(&self) -> crate::Timestamp {
        let key = Self::generated_key(&self.text).unwrap_or_default();
        let bytes = BASE32.decode(key.as_bytes()).unwrap_or_default();
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

    /// Returns the key in the text of a generated id.
    fn generated_key(text: &str) -> Option<&str> {
        let key = text.strip_prefix(K::PREFIX)?.strip_prefix('_')?;
        is_generated_key(key).then_some(key)
    }
}

fn is_generated_key(key: &str) -> bool {
    key.len() == KEY_LEN && BASE32.decode(key.as_bytes()).is_ok()
}

impl<K: Kind> FromStr for Id<K> {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        text.to_owned().try_into()
    }
}

impl<K: Kind> TryFrom<String> for Id<K> {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        if K::ACCEPTS_FOREIGN {
            let is_valid = (1..=MAX_LEN).contains(&text.len()) && !text.contains(char::is_control);
            if !is_valid || text.trim() != text {
                return Err(ParseIdError::Malformed);
            }
        } else if Self::generated_key(&text).is_none() {
            return Err(ParseIdError::NotGenerated(K::PREFIX));
        }
        Ok(Self::from_text(text))
    }
}

/// Implements `From` for the numbers that databases use as keys, and for UUIDs.
macro_rules! foreign_ids {
    ($kind:ty: $($number:ty),*) => {
        $(impl From<$number> for Id<$kind> {
            fn from(number: $number) -> Self {
                Self::from_text(number.to_string())
            }
        })*
        impl From<[u8; 16]> for Id<$kind> {
            /// Returns the text of a UUID (RFC 9562 §4) from its bytes.
            fn from(uuid: [u8; 16]) -> Self {
                Self::from_text(uuid_text(uuid))
            }
        }
    };
}
foreign_ids!(Tenant: u32, u64, usize, i32, i64);
foreign_ids!(User: u32, u64, usize, i32, i64);
foreign_ids!(Group: u32, u64, usize, i32, i64);

fn uuid_text(bytes: [u8; 16]) -> String {
    let mut text = HEXLOWER.encode(&bytes);
    for hyphen in [20, 16, 12, 8] {
        text.insert(hyphen, '-');
    }
    text
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
        String::deserialize(deserializer)?.try_into().map_err(de::Error::custom)
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
        assert_eq!(UserId::generated(first.as_str()), Ok(first.clone()));
        assert!(first.is_generated());
        assert_eq!(first.as_str().len(), 4 + KEY_LEN);
    }

    enum Widget {}
    impl Kind for Widget {
        const PREFIX: &'static str = "wid";
    }

    #[test]
    fn other_prefixes_and_malformed_text_are_refused() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        assert!(Id::<Widget>::new(&env).as_str().parse::<Id<Widget>>().is_ok());
        let tenant = TenantId::new(&env);
        for text in [
            tenant.as_str(),
            "",
            "wid_",
            "wid",
            "wid_01",
            "wid_ooooooooooooooooooooooooo!",
            "wid_\u{0}",
            "42",
        ] {
            let parsed = text.parse::<Id<Widget>>();
            assert_eq!(parsed, Err(ParseIdError::NotGenerated("wid")), "{text}");
        }
        for key in ["", "42", tenant.as_str()] {
            assert_eq!(UserId::from_key(key), Err(ParseIdError::NotGenerated("usr")), "{key}");
        }
    }

    #[test]
    fn ids_of_an_embedding_service_are_kept_as_they_are() {
        for text in
            ["42", "9f1c62e4-7d55-4f0a-8c2e-1f6d1c0b7a11", "ada@example.com", "usr_1", "Ada Lovelace", "ø"]
        {
            let id: UserId = text.parse().unwrap();
            assert_eq!((id.as_str(), id.key()), (text, text));
            assert_eq!(id.created_at().unix_millis(), 0);
            assert_eq!(UserId::try_from(text.to_owned()), Ok(id));
        }
        assert_eq!((TenantId::from(7).as_str(), UserId::from(7_u64).as_str()), ("7", "7"));
        assert_eq!(UserId::from([0x12; 16]).as_str(), "12121212-1212-1212-1212-121212121212");
        assert!(!UserId::from(7).is_generated() && UserId::generated("7").is_err());
        let longest = "a".repeat(MAX_LEN);
        assert!(longest.parse::<GroupId>().is_ok());
        for text in ["", " ", " a", "a ", "a\nb", "a\u{0}", &format!("{longest}a")] {
            assert_eq!(text.parse::<UserId>(), Err(ParseIdError::Malformed), "{text:?}");
        }
    }
}
