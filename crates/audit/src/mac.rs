//! Message authentication codes (MACs) of entries. Forging an entry takes the key, not only write access to the
//! database.
//!
//! `HMAC-SHA256(key, "gatehouse audit entry" | 0x00 | length of id | id | leaf)`, with the length as eight big-endian
//! bytes. The key is derived by HKDF-SHA256 (RFC 5869) from a master key, for one tenant. The leaf hash covers all
//! members of the entry, but only a commitment to personal values, so the MAC stays valid when these are erased.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use kernel::MasterKeys;
use ring::{hkdf, hmac};

use crate::log::Hash;

/// Maximum number of tenants whose derived keys are cached. Beyond it, the cache is cleared.
const CACHED_TENANTS: usize = 4096;
/// Separates these MACs from other uses of HMAC with the same key.
const LABEL: &[u8] = b"gatehouse audit entry\0";

/// The MAC that is stored with an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryMac {
    /// The id of the master key.
    pub key: String,
    /// The tag: 32 bytes. Any other length is invalid.
    pub tag: Vec<u8>,
}

/// Why a MAC is not valid for an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum MacProblem {
    /// The MAC is missing.
    Missing,
    /// The key is unknown.
    UnknownKey,
    /// The MAC does not match this entry and key.
    Wrong,
}

impl fmt::Display for MacProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "it has no MAC",
            Self::UnknownKey => "its MAC names an unknown key",
            Self::Wrong => "its MAC is invalid",
        })
    }
}

/// The keys of one tenant, newest first.
type TenantKeys = Arc<[(String, hmac::Key)]>;

/// The master keys, newest first, and a cache of the keys derived for tenants.
#[derive(Default)]
struct Ring {
    masters: Vec<(String, hkdf::Prk)>,
    tenants: RwLock<HashMap<String, TenantKeys>>,
}

impl Ring {
    fn derive(&self, tenant: &str) -> TenantKeys {
        let key = |(id, master): &(String, hkdf::Prk)| {
            let info = [tenant.as_bytes()];
            // This cannot fail: the requested length is that of the hash.
            let key = master.expand(&info, hmac::HMAC_SHA256).ok().map(hmac::Key::from)?;
            Some((id.clone(), key))
        };
        self.masters.iter().filter_map(key).collect()
    }

    fn keys_of(&self, tenant: &str) -> TenantKeys {
        let cached = self.tenants.read().unwrap_or_else(PoisonError::into_inner).get(tenant).cloned();
        cached.unwrap_or_else(|| {
            let keys = self.derive(tenant);
            let mut tenants = self.tenants.write().unwrap_or_else(PoisonError::into_inner);
            if tenants.len() >= CACHED_TENANTS {
                tenants.clear();
            }
            tenants.insert(tenant.to_owned(), Arc::clone(&keys));
            keys
        })
    }
}

/// Computes and verifies the MACs of entries. Clones share one key ring, so a rotation reaches all of them.
///
/// The first key computes MACs; all keys verify.
#[derive(Clone, Default)]
pub struct EntryKeys(Arc<RwLock<Arc<Ring>>>);

impl EntryKeys {
    /// Derives the keys from master keys with their ids, newest first.
    pub fn derive(masters: &MasterKeys) -> Self {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"gatehouse audit entries");
        let masters = masters.iter().map(|(id, master)| (id.to_owned(), salt.extract(master.expose())));
        let ring = Ring { masters: masters.collect(), tenants: RwLock::default() };
        Self(Arc::new(RwLock::new(Arc::new(ring))))
    }

    /// Creates an empty key ring, for processes that write no entries. Appending an entry then fails.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adopts the key ring of `other`, in all clones.
    pub fn adopt(&self, other: &Self) {
        let ring = other.ring();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = ring;
    }

    /// Returns whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.ring().masters.is_empty()
    }

    /// Computes the MAC of an entry of this tenant with the newest key; `None` without a key.
    pub fn sign(&self, tenant: &str, id: &str, leaf: &Hash) -> Option<EntryMac> {
        let keys = self.ring().keys_of(tenant);
        let (key, secret) = keys.first()?;
        let tag = hmac::sign(secret, &message(id, leaf));
        Some(EntryMac { key: key.clone(), tag: tag.as_ref().to_vec() })
    }

    /// Verifies the MAC of an entry of this tenant, in constant time.
    pub fn verify(
        &self,
        tenant: &str,
        id: &str,
        leaf: &Hash,
        mac: Option<&EntryMac>,
    ) -> Result<(), MacProblem> {
        let mac = mac.ok_or(MacProblem::Missing)?;
        let keys = self.ring().keys_of(tenant);
        let Some((_, secret)) = keys.iter().find(|(key, _)| *key == mac.key) else {
            // Commands print the ids of unknown keys. No master key has another form of id (`MasterKeys::new`).
            let is_id =
                (1..=32).contains(&mac.key.len()) && mac.key.bytes().all(|byte| byte.is_ascii_alphanumeric());
            return Err(if is_id { MacProblem::UnknownKey } else { MacProblem::Wrong });
        };
        hmac::verify(secret, &message(id, leaf), &mac.tag).map_err(|_| MacProblem::Wrong)
    }

    fn ring(&self) -> Arc<Ring> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for EntryKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ring().masters.iter().map(|(id, _)| id)).finish()
    }
}

fn message(id: &str, leaf: &Hash) -> Vec<u8> {
    [LABEL, &(id.len() as u64).to_be_bytes(), id.as_bytes(), leaf].concat()
}

#[cfg(test)]
mod tests {
    use kernel::Secret;

    use super::*;

    fn masters(ids: &[(&str, u8)]) -> MasterKeys {
        let keys = ids.iter().map(|(id, byte)| ((*id).to_owned(), Secret::new(vec![*byte; 32])));
        MasterKeys::new(keys.collect()).unwrap()
    }

    #[test]
    fn mac_is_valid_only_for_its_entry_tenant_and_key() {
        let keys = EntryKeys::derive(&masters(&[("a", 1)]));
        let mac = keys.sign("ten_1", "aud_1", &[7; 32]).unwrap();
        let check = |keys: &EntryKeys, tenant, id, leaf, mac| keys.verify(tenant, id, leaf, mac);
        assert_eq!(check(&keys, "ten_1", "aud_1", &[7; 32], Some(&mac)), Ok(()));
        assert_eq!(check(&keys, "ten_2", "aud_1", &[7; 32], Some(&mac)), Err(MacProblem::Wrong));
        assert_eq!(check(&keys, "ten_1", "aud_2", &[7; 32], Some(&mac)), Err(MacProblem::Wrong));
        assert_eq!(check(&keys, "ten_1", "aud_1", &[8; 32], Some(&mac)), Err(MacProblem::Wrong));
        assert_eq!(check(&keys, "ten_1", "aud_1", &[7; 32], None), Err(MacProblem::Missing));
        let short = EntryMac { tag: mac.tag[1..].to_vec(), ..mac.clone() };
        assert_eq!(check(&keys, "ten_1", "aud_1", &[7; 32], Some(&short)), Err(MacProblem::Wrong));
        let other = EntryKeys::derive(&masters(&[("b", 1)]));
        assert_eq!(check(&other, "ten_1", "aud_1", &[7; 32], Some(&mac)), Err(MacProblem::UnknownKey));
        for (key, problem) in [
            ("other1", MacProblem::UnknownKey),
            ("", MacProblem::Wrong),
            ("a b", MacProblem::Wrong),
            (&*"k".repeat(33), MacProblem::Wrong),
        ] {
            let forged = EntryMac { key: key.to_owned(), ..mac.clone() };
            assert_eq!(keys.verify("ten_1", "aud_1", &[7; 32], Some(&forged)), Err(problem), "{key}");
        }
        assert_eq!(format!("{keys:?}"), r#"["a"]"#);
        assert!(EntryKeys::none().sign("ten_1", "aud_1", &[7; 32]).is_none());
    }

    #[test]
    fn rotation_reaches_every_clone_and_older_keys_verify() {
        let keys = EntryKeys::derive(&masters(&[("a", 1)]));
        let clone = keys.clone();
        let old = clone.sign("ten_1", "aud_1", &[7; 32]).unwrap();
        keys.adopt(&EntryKeys::derive(&masters(&[("b", 2), ("a", 1)])));
        assert_eq!(clone.sign("ten_1", "aud_1", &[7; 32]).unwrap().key, "b");
        assert_eq!(clone.verify("ten_1", "aud_1", &[7; 32], Some(&old)), Ok(()));
    }

    #[test]
    fn mac_matches_its_documentation() {
        let keys = EntryKeys::derive(&masters(&[("a", 1)]));
        // HKDF and HMAC step by step: extract, expand for one block, then the tag.
        let hmac_of = |key: &[u8], message: &[u8]| {
            hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message).as_ref().to_vec()
        };
        let extracted = hmac_of(b"gatehouse audit entries", &[1; 32]);
        let key = hmac_of(&extracted, b"ten_1\x01");
        let message = [b"gatehouse audit entry\0\0\0\0\0\0\0\0\x05aud_1".as_slice(), &[7; 32]].concat();
        assert_eq!(keys.sign("ten_1", "aud_1", &[7; 32]).unwrap().tag, hmac_of(&key, &message));
    }

    #[test]
    fn number_of_cached_tenant_keys_is_limited() {
        let keys = EntryKeys::derive(&masters(&[("a", 1)]));
        for number in 0..CACHED_TENANTS + 10 {
            keys.sign(&format!("ten_{number}"), "aud_1", &[7; 32]).unwrap();
        }
        // They are all forgotten at the limit.
        assert_eq!(keys.ring().tenants.read().unwrap().len(), 10);
    }
}
