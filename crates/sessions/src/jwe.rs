//! JSON Web Encryption as Auth.js v5 uses it: compact serialization, `dir`, `A256CBC-HS512` (RFC 7516, RFC 7518
//! §5.2.5).

use aes::Aes256;
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, block_padding::Pkcs7};
use data_encoding::BASE64URL_NOPAD;
use kernel::{Secret, constant_time_eq};
use ring::{digest, hkdf, hmac};
use serde::Deserialize;

/// Length of a key in bytes: half for authentication, half for encryption.
const KEY: usize = 64;
/// Length of an initialization vector in bytes.
pub(crate) const IV: usize = 16;
/// Length of a tag in bytes: half of HMAC-SHA512.
const TAG: usize = 32;

/// A key derived from a secret for one cookie name.
pub(crate) struct Key {
    bytes: Secret<Vec<u8>>,
    /// Thumbprint (RFC 7638, with SHA-512), which Auth.js uses as the key id.
    pub(crate) kid: String,
}

struct Length;
impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        KEY
    }
}

/// The relevant members of a protected header.
#[derive(Deserialize)]
struct Header {
    alg: String,
    enc: String,
    kid: Option<String>,
    /// Refused: Auth.js never compresses, and decompressing untrusted input can exhaust memory.
    zip: Option<serde_json::Value>,
    crit: Option<serde_json::Value>,
}

impl Key {
    /// Derives the key by HKDF-SHA256 from the secret's UTF-8 bytes, with the cookie's name as salt.
    pub(crate) fn derive(secret: &str, cookie: &str) -> Option<Self> {
        let info = format!("Auth.js Generated Encryption Key ({cookie})");
        let info = [info.as_bytes()];
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, cookie.as_bytes());
        let mut bytes = vec![0; KEY];
        salt.extract(secret.as_bytes()).expand(&info, Length).ok()?.fill(&mut bytes).ok()?;
        let thumbprint = Secret::new(format!(r#"{{"k":"{}","kty":"oct"}}"#, BASE64URL_NOPAD.encode(&bytes)));
        let digest = digest::digest(&digest::SHA512, thumbprint.expose().as_bytes());
        Some(Self { bytes: Secret::new(bytes), kid: BASE64URL_NOPAD.encode(digest.as_ref()) })
    }

    fn halves(&self) -> (&[u8], &[u8]) {
        self.bytes.expose().split_at(KEY / 2)
    }

    fn tag(&self, header: &str, iv: &[u8], ciphertext: &[u8]) -> Vec<u8> {
        let bits = (header.len() as u64) * 8;
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA512, self.halves().0));
        for part in [header.as_bytes(), iv, ciphertext, &bits.to_be_bytes()] {
            context.update(part);
        }
        let mut tag = context.sign().as_ref().to_vec();
        tag.truncate(TAG);
        tag
    }

    /// Encrypts `plain` and returns the compact serialization.
    pub(crate) fn seal(&self, plain: &[u8], iv: [u8; IV]) -> Option<String> {
        let header = format!(r#"{{"alg":"dir","enc":"A256CBC-HS512","kid":"{}"}}"#, self.kid);
        self.seal_with(&header, plain, iv)
    }

    fn seal_with(&self, header: &str, plain: &[u8], iv: [u8; IV]) -> Option<String> {
        let header = BASE64URL_NOPAD.encode(header.as_bytes());
        let cipher = cbc::Encryptor::<Aes256>::new_from_slices(self.halves().1, &iv).ok()?;
        let ciphertext = cipher.encrypt_padded_vec::<Pkcs7>(plain);
        let tag = self.tag(&header, &iv, &ciphertext);
        let [iv, ciphertext, tag] = [&iv[..], &ciphertext, &tag].map(|part| BASE64URL_NOPAD.encode(part));
        Some(format!("{header}..{iv}.{ciphertext}.{tag}"))
    }

    fn open(&self, token: &Compact<'_>) -> Option<Secret<Vec<u8>>> {
        let expected = self.tag(token.header, &token.iv, &token.ciphertext);
        if !constant_time_eq(&expected, &token.tag) {
            return None;
        }
        let cipher = cbc::Decryptor::<Aes256>::new_from_slices(self.halves().1, &token.iv).ok()?;
        cipher.decrypt_padded_vec::<Pkcs7>(&token.ciphertext).ok().map(Secret::new)
    }
}

/// A parsed token.
struct Compact<'t> {
    header: &'t str,
    kid: Option<String>,
    iv: Vec<u8>,
    ciphertext: Vec<u8>,
    tag: Vec<u8>,
}

impl<'t> Compact<'t> {
    fn parse(token: &'t str) -> Option<Self> {
        let mut parts = token.split('.');
        let header = parts.next()?;
        // With direct encryption, the encrypted key is empty.
        parts.next().filter(|key| key.is_empty())?;
        let mut bytes = || BASE64URL_NOPAD.decode(parts.next()?.as_bytes()).ok();
        let (iv, ciphertext, tag) = (bytes()?, bytes()?, bytes()?);
        if parts.next().is_some() || iv.len() != IV || tag.len() != TAG {
            return None;
        }
        let read: Header = serde_json::from_slice(&BASE64URL_NOPAD.decode(header.as_bytes()).ok()?).ok()?;
        let known = read.alg == "dir" && read.enc == "A256CBC-HS512";
        let plain = read.zip.is_none() && read.crit.is_none();
        (known && plain).then_some(Self { header, kid: read.kid, iv, ciphertext, tag })
    }
}

/// Decrypts a token that one of the keys has encrypted. A token with a key id is tried only with that key.
pub(crate) fn open<'k>(keys: impl Iterator<Item = &'k Key>, token: &str) -> Option<Secret<Vec<u8>>> {
    let token = Compact::parse(token)?;
    let mut fitting = keys.filter(|key| token.kid.as_ref().is_none_or(|kid| *kid == key.kid));
    fitting.find_map(|key| key.open(&token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_direct_encryption_without_extensions_is_opened() {
        let key = Key::derive("a secret of at least 32 characters", "authjs.session-token").unwrap();
        let opened = |token: &str| open([&key].into_iter(), token).map(|plain| plain.expose().clone());
        for (header, is_known) in [
            (r#"{"alg":"dir","enc":"A256CBC-HS512"}"#, true),
            (r#"{"alg":"A256KW","enc":"A256CBC-HS512"}"#, false),
            (r#"{"alg":"dir","enc":"A256GCM"}"#, false),
            (r#"{"alg":"dir","enc":"A256CBC-HS512","zip":"DEF"}"#, false),
            (r#"{"alg":"dir","enc":"A256CBC-HS512","crit":["exp"]}"#, false),
        ] {
            let token = key.seal_with(header, b"plain", [7; IV]).unwrap();
            assert_eq!(opened(&token).is_some(), is_known, "{header}");
        }
        let token = key.seal(b"plain", [7; IV]).unwrap();
        assert_eq!(opened(&token).as_deref(), Some(&b"plain"[..]));
        assert_eq!(opened(&format!("{token}.AAAA")), None, "a sixth part");
        assert_eq!(opened(&token.replacen("..", ".AAAA.", 1)), None, "an encrypted key");
    }
}
