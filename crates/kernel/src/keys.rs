//! Keys with ids: the newest signs, all verify.

use ring::{hkdf, hmac};

use crate::Secret;

/// Keys of one purpose, newest first: HMAC-SHA256, each derived from a master key by HKDF-SHA256 (RFC 5869).
///
/// Rotation puts a new key in front. What an older one has signed stays good until that key is removed.
pub struct SigningKeys(Vec<(String, hmac::Key)>);

/// A signature, and the id of the key that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature<'k> {
    /// The key's id.
    pub key: &'k str,
    /// 32 bytes.
    pub tag: [u8; 32],
}

impl SigningKeys {
    /// Derives the keys of a purpose from master keys with their ids, newest first.
    ///
    /// Keys of different purposes have nothing in common: what is signed for one is worth nothing for another.
    pub fn derive(masters: &[(String, Secret<Vec<u8>>)], purpose: &str) -> Self {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"gatehouse");
        let derive = |master: &Secret<Vec<u8>>| {
            let info = [purpose.as_bytes()];
            let extracted = salt.extract(master.expose());
            // The length asked for is the hash's own, which is never too long.
            extracted.expand(&info, hmac::HMAC_SHA256).ok().map(hmac::Key::from)
        };
        Self(masters.iter().filter_map(|(id, master)| Some((id.clone(), derive(master)?))).collect())
    }

    /// Signs with the newest key; `None` if there is no key at all.
    pub fn sign(&self, message: &[u8]) -> Option<Signature<'_>> {
        let (id, key) = self.0.first()?;
        let tag = hmac::sign(key, message).as_ref().try_into().ok()?;
        Some(Signature { key: id, tag })
    }

    /// Whether the key of this id has signed it. In constant time.
    pub fn verify(&self, key: &str, message: &[u8], tag: &[u8]) -> bool {
        let known = self.0.iter().find(|(id, _)| id == key);
        known.is_some_and(|(_, key)| hmac::verify(key, message, tag).is_ok())
    }

    /// Whether there is a key of this id.
    pub fn knows(&self, key: &str) -> bool {
        self.0.iter().any(|(id, _)| id == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn master(id: &str, byte: u8) -> (String, Secret<Vec<u8>>) {
        (id.to_owned(), Secret::new(vec![byte; 32]))
    }

    #[test]
    fn the_newest_signs_and_all_verify() {
        let before = SigningKeys::derive(&[master("a", 1)], "test");
        let after = SigningKeys::derive(&[master("b", 2), master("a", 1)], "test");
        let old = before.sign(b"x").unwrap();
        assert!(after.verify(old.key, b"x", &old.tag));
        let new = after.sign(b"x").unwrap();
        assert_eq!(new.key, "b");
        assert!(after.verify("b", b"x", &new.tag) && !after.verify("a", b"x", &new.tag));
        assert!(!before.knows("b") && !before.verify("b", b"x", &new.tag));
        assert!(!after.verify("b", b"y", &new.tag) && !after.verify("b", b"x", &new.tag[1..]));
    }

    #[test]
    fn purposes_have_nothing_in_common() {
        let [one, other] = ["one", "other"].map(|purpose| SigningKeys::derive(&[master("a", 1)], purpose));
        let signed = one.sign(b"x").unwrap();
        assert!(!other.verify("a", b"x", &signed.tag));
        // HKDF and HMAC as anybody else computes them.
        let expected = "c1779418";
        assert_eq!(data_encoding::HEXLOWER.encode(&signed.tag[..4]), expected);
    }
}
