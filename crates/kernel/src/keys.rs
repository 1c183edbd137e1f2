//! Keys with ids: the newest signs or encrypts, all verify or decrypt.

use ring::{aead, hkdf, hmac};

use crate::{Env, MasterKeys, Secret};

/// Signing keys of one purpose, newest first: HMAC-SHA256, derived from master keys by HKDF-SHA256 (RFC 5869).
///
/// To rotate, put a new key in front. Signatures of an older key stay valid until that key is removed.
pub struct SigningKeys(Vec<(String, hmac::Key)>);

/// A signature and the id of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature<'k> {
    /// The key's id.
    pub key: &'k str,
    /// 32 bytes.
    pub tag: [u8; 32],
}

impl SigningKeys {
    /// Derives the keys of a purpose.
    ///
    /// Keys of different purposes are independent: a signature for one purpose is invalid for another.
    pub fn derive(masters: &MasterKeys, purpose: &str) -> Self {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"gatehouse");
        let derive = |master: &Secret<Vec<u8>>| {
            let info = [purpose.as_bytes()];
            let extracted = salt.extract(master.expose());
            // HKDF cannot fail for an output of one hash length.
            extracted.expand(&info, hmac::HMAC_SHA256).ok().map(hmac::Key::from)
        };
        Self(masters.iter().filter_map(|(id, master)| Some((id.to_owned(), derive(master)?))).collect())
    }

    /// Returns the id of the signing key; `None` without any key.
    pub fn newest(&self) -> Option<&str> {
        self.0.first().map(|(id, _)| id.as_str())
    }

    /// Signs with the newest key; `None` without any key.
    pub fn sign(&self, message: &[u8]) -> Option<Signature<'_>> {
        let (id, key) = self.0.first()?;
        let tag = hmac::sign(key, message).as_ref().try_into().ok()?;
        Some(Signature { key: id, tag })
    }

    /// Verifies a signature by the key with this id in constant time.
    pub fn verify(&self, key: &str, message: &[u8], tag: &[u8]) -> bool {
        let known = self.0.iter().find(|(id, _)| id == key);
        known.is_some_and(|(_, key)| hmac::verify(key, message, tag).is_ok())
    }

    /// Signs with every key. Two installations find the keys that they share by comparing such signatures.
    pub fn sign_with_each(&self, message: &[u8]) -> impl Iterator<Item = Signature<'_>> {
        self.0.iter().filter_map(|(id, key)| {
            let tag = hmac::sign(key, message).as_ref().try_into().ok()?;
            Some(Signature { key: id, tag })
        })
    }

    /// Whether a key with this id exists.
    pub fn knows(&self, key: &str) -> bool {
        self.0.iter().any(|(id, _)| id == key)
    }
}

/// Encryption keys of one purpose, newest first: AES-256-GCM, derived from master keys by HKDF-SHA256 (RFC 5869).
///
/// The ciphertext contains the id of its key. To rotate, put a new key in front; the older ones still decrypt.
pub struct SealingKeys(Vec<(String, aead::LessSafeKey)>);

/// The result of [`SealingKeys::reencrypt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reencrypted {
    /// The newest key encrypted the value already.
    Unchanged,
    /// The value, encrypted with the newest key.
    Changed(Vec<u8>),
    /// The value cannot be decrypted: its key is missing, or it is malformed or belongs to another place.
    Unreadable,
}

/// Length of a nonce in bytes.
const NONCE: usize = aead::NONCE_LEN;

impl SealingKeys {
    /// Derives the keys of a purpose from master keys, newest first.
    pub fn derive(masters: &MasterKeys, purpose: &str) -> Self {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"gatehouse sealing");
        let derive = |master: &Secret<Vec<u8>>| {
            let info = [purpose.as_bytes()];
            let extracted = salt.extract(master.expose());
            let key = extracted.expand(&info, &aead::AES_256_GCM).ok().map(aead::UnboundKey::from)?;
            Some(aead::LessSafeKey::new(key))
        };
        Self(masters.iter().filter_map(|(id, master)| Some((id.to_owned(), derive(master)?))).collect())
    }

    /// Encrypts with the newest key. `place` is associated data: it is not stored, and decryption requires the same
    /// value.
    ///
    /// Format: length of the key's id (1 byte), id, nonce (12 bytes), ciphertext, tag (16 bytes). `None` without any
    /// key.
    pub fn seal(&self, env: &dyn Env, place: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
        let (id, key) = self.0.first()?;
        let mut nonce = [0; NONCE];
        env.fill(&mut nonce);
        let mut sealed = vec![u8::try_from(id.len()).ok()?];
        sealed.extend_from_slice(id.as_bytes());
        sealed.extend_from_slice(&nonce);
        let mut body = plain.to_vec();
        let nonce = aead::Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonce, aead::Aad::from(place), &mut body).ok()?;
        sealed.append(&mut body);
        Some(sealed)
    }

    /// Encrypts a value with the newest key, unless that key encrypted it. `place` as in [`SealingKeys::seal`].
    pub fn reencrypt(&self, env: &dyn Env, place: &[u8], sealed: &[u8]) -> Reencrypted {
        let Some(plain) = self.open(place, sealed) else { return Reencrypted::Unreadable };
        let is_newest = |(id, _): &(String, _)| split(sealed).is_some_and(|(key, _)| key == id.as_bytes());
        if self.0.first().is_some_and(is_newest) {
            return Reencrypted::Unchanged;
        }
        self.seal(env, place, plain.expose()).map_or(Reencrypted::Unreadable, Reencrypted::Changed)
    }

    /// Returns whether the key that encrypted a value is known.
    pub fn knows_key_of(&self, sealed: &[u8]) -> bool {
        split(sealed).is_some_and(|(key, _)| self.0.iter().any(|(id, _)| id.as_bytes() == key))
    }

    /// Returns a sealed value whose key has another id, for an installation that holds the same key under that id.
    /// `id` returns it, or `None` to fail. Also `None` if the value is malformed.
    pub fn rename(sealed: &[u8], id: impl FnOnce(&str) -> Option<String>) -> Option<Vec<u8>> {
        let (old, rest) = split(sealed)?;
        let new = id(std::str::from_utf8(old).ok()?)?;
        Some([&[u8::try_from(new.len()).ok()?], new.as_bytes(), rest].concat())
    }

    /// Decrypts a value that was encrypted with the same `place`; `None` if `place` differs or the key has been
    /// removed.
    pub fn open(&self, place: &[u8], sealed: &[u8]) -> Option<Secret<Vec<u8>>> {
        let (id, rest) = split(sealed)?;
        let (nonce, body) = rest.split_first_chunk::<NONCE>()?;
        let (_, key) = self.0.iter().find(|(known, _)| known.as_bytes() == id)?;
        let mut body = body.to_vec();
        let nonce = aead::Nonce::assume_unique_for_key(*nonce);
        let length = key.open_in_place(nonce, aead::Aad::from(place), &mut body).ok()?.len();
        body.truncate(length);
        Some(Secret::new(body))
    }
}

/// Returns the id of a sealed value's key, and the rest.
fn split(sealed: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = sealed.split_first()?;
    rest.split_at_checked(usize::from(*length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masters(keys: &[(&str, u8)]) -> MasterKeys {
        let keys = keys.iter().map(|(id, byte)| ((*id).to_owned(), Secret::new(vec![*byte; 32])));
        MasterKeys::new(keys.collect()).unwrap()
    }

    #[test]
    fn newest_key_signs_and_all_verify() {
        let before = SigningKeys::derive(&masters(&[("a", 1)]), "test");
        let after = SigningKeys::derive(&masters(&[("b", 2), ("a", 1)]), "test");
        let old = before.sign(b"x").unwrap();
        assert!(after.verify(old.key, b"x", &old.tag));
        let new = after.sign(b"x").unwrap();
        assert_eq!(new.key, "b");
        assert!(after.verify("b", b"x", &new.tag) && !after.verify("a", b"x", &new.tag));
        assert!(!before.knows("b") && !before.verify("b", b"x", &new.tag));
        assert!(!after.verify("b", b"y", &new.tag) && !after.verify("b", b"x", &new.tag[1..]));
        let each: Vec<_> = after.sign_with_each(b"x").collect();
        assert_eq!(each, [new, Signature { key: "a", tag: old.tag }]);
    }

    #[test]
    fn keys_of_different_purposes_are_independent() {
        let [one, other] =
            ["one", "other"].map(|purpose| SigningKeys::derive(&masters(&[("a", 1)]), purpose));
        let signed = one.sign(b"x").unwrap();
        assert!(!other.verify("a", b"x", &signed.tag));
        // Test vector computed with another implementation of HKDF and HMAC.
        let expected = "c1779418";
        assert_eq!(data_encoding::HEXLOWER.encode(&signed.tag[..4]), expected);
    }

    #[test]
    fn sealed_value_opens_only_in_its_place() {
        let env = crate::ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let before = SealingKeys::derive(&masters(&[("a", 1)]), "test");
        let after = SealingKeys::derive(&masters(&[("b", 2), ("a", 1)]), "test");
        let sealed = before.seal(&env, b"here", b"secret").unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"secret"));
        for keys in [&before, &after] {
            assert_eq!(keys.open(b"here", &sealed).unwrap().expose(), b"secret");
        }
        assert!(after.open(b"there", &sealed).is_none());
        let newer = after.seal(&env, b"here", b"secret").unwrap();
        assert!(before.open(b"here", &newer).is_none());
        let elsewhere = SealingKeys::derive(&masters(&[("a", 2), ("theirs", 1)]), "test");
        assert!(elsewhere.open(b"here", &sealed).is_none());
        let renamed = SealingKeys::rename(&sealed, |id| (id == "a").then(|| "theirs".into())).unwrap();
        assert_eq!(elsewhere.open(b"here", &renamed).unwrap().expose(), b"secret");
        assert_eq!(SealingKeys::rename(&sealed, |_| None), None);
        assert_eq!(SealingKeys::rename(&[9, 1], |_| Some("a".into())), None);
        let alone = SealingKeys::derive(&masters(&[("b", 2)]), "test");
        assert!(
            before.knows_key_of(&sealed) && !alone.knows_key_of(&sealed) && !before.knows_key_of(&[9, 1])
        );
        assert_eq!(before.reencrypt(&env, b"here", &sealed), Reencrypted::Unchanged);
        let Reencrypted::Changed(again) = after.reencrypt(&env, b"here", &sealed) else { unreachable!() };
        assert_eq!(alone.open(b"here", &again).unwrap().expose(), b"secret");
        assert_eq!(after.reencrypt(&env, b"here", &again), Reencrypted::Unchanged);
        for (keys, place) in [(&alone, &b"here"[..]), (&after, b"there")] {
            assert_eq!(keys.reencrypt(&env, place, &sealed), Reencrypted::Unreadable);
        }
        for at in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[at] ^= 1;
            assert!(after.open(b"here", &bent).is_none() && after.open(b"here", &sealed[..at]).is_none());
        }
    }
}
