//! Keys with ids: the newest signs, all verify.

use ring::{aead, hkdf, hmac};

use crate::{Env, MasterKeys, Secret};

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
    /// Derives the keys of a purpose.
    ///
    /// Keys of different purposes have nothing in common: what is signed for one is worth nothing for another.
    pub fn derive(masters: &MasterKeys, purpose: &str) -> Self {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"gatehouse");
        let derive = |master: &Secret<Vec<u8>>| {
            let info = [purpose.as_bytes()];
            let extracted = salt.extract(master.expose());
            // The length asked for is the hash's own, which is never too long.
            extracted.expand(&info, hmac::HMAC_SHA256).ok().map(hmac::Key::from)
        };
        Self(masters.iter().filter_map(|(id, master)| Some((id.to_owned(), derive(master)?))).collect())
    }

    /// The id of the key that signs; `None` if there is no key at all.
    pub fn newest(&self) -> Option<&str> {
        self.0.first().map(|(id, _)| id.as_str())
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

/// Keys of one purpose, newest first: AES-256-GCM, each derived from a master key by HKDF-SHA256 (RFC 5869).
///
/// What is sealed can be read by whoever has the key that sealed it; it names that key, so that rotation
/// puts a new one in front and the older ones go on opening.
pub struct SealingKeys(Vec<(String, aead::LessSafeKey)>);

/// Bytes of a nonce.
const NONCE: usize = aead::NONCE_LEN;

impl SealingKeys {
    /// Derives the keys of a purpose from master keys with their ids, newest first.
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

    /// Seals with the newest key what can be opened in the same place alone: `place` is not kept in it.
    ///
    /// Form: length of the key's id (1 byte), the id, nonce (12), ciphertext, tag (16). `None` without a key.
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

    /// What was sealed in this place; `None` if it was not, or by a key that is no longer there.
    pub fn open(&self, place: &[u8], sealed: &[u8]) -> Option<Secret<Vec<u8>>> {
        let (length, rest) = sealed.split_first()?;
        let (id, rest) = rest.split_at_checked(usize::from(*length))?;
        let (nonce, body) = rest.split_first_chunk::<NONCE>()?;
        let (_, key) = self.0.iter().find(|(known, _)| known.as_bytes() == id)?;
        let mut body = body.to_vec();
        let nonce = aead::Nonce::assume_unique_for_key(*nonce);
        let length = key.open_in_place(nonce, aead::Aad::from(place), &mut body).ok()?.len();
        body.truncate(length);
        Some(Secret::new(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masters(keys: &[(&str, u8)]) -> MasterKeys {
        let keys = keys.iter().map(|(id, byte)| ((*id).to_owned(), Secret::new(vec![*byte; 32])));
        MasterKeys::new(keys.collect()).unwrap()
    }

    #[test]
    fn the_newest_signs_and_all_verify() {
        let before = SigningKeys::derive(&masters(&[("a", 1)]), "test");
        let after = SigningKeys::derive(&masters(&[("b", 2), ("a", 1)]), "test");
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
        let [one, other] =
            ["one", "other"].map(|purpose| SigningKeys::derive(&masters(&[("a", 1)]), purpose));
        let signed = one.sign(b"x").unwrap();
        assert!(!other.verify("a", b"x", &signed.tag));
        // HKDF and HMAC as anybody else computes them.
        let expected = "c1779418";
        assert_eq!(data_encoding::HEXLOWER.encode(&signed.tag[..4]), expected);
    }

    #[test]
    fn what_is_sealed_opens_in_its_place_alone() {
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
        for at in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[at] ^= 1;
            assert!(after.open(b"here", &bent).is_none() && after.open(b"here", &sealed[..at]).is_none());
        }
    }
}
