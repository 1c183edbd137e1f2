//! Decrypts assertions and NameIDs: AES-GCM with RSA-OAEP. Every failure returns the same error, to avoid a decryption oracle.

use openssl::{
    encrypt::Decrypter,
    hash::MessageDigest,
    pkey::PKey,
    rsa::Padding,
    symm::{Cipher, decrypt_aead},
};
use roxmltree::Node;

use crate::{
    encode,
    keys::KeyPair,
    refusal::{Reason, Refusal},
    xml::{DS, ENC, ENC11, attribute, child, elements, is, only_text},
};

/// Maximum number of encrypted keys in an assertion, one per recipient.
const MAX_RECIPIENTS: usize = 4;
/// Length of the nonce and of the tag, in bytes.
const NONCE: usize = 12;
const TAG: usize = 16;

/// Returns the error for every kind of failure.
pub(crate) fn failed() -> Refusal {
    let detail = "the assertion cannot be decrypted; encrypt it with AES-GCM, and its key with RSA-OAEP to a \
        certificate in this service's metadata";
    Refusal::new(Reason::Undecryptable, detail)
}

/// Returns the error for every kind of failure with a NameID.
pub(crate) fn failed_name_id() -> Refusal {
    let detail = "the NameID cannot be decrypted; encrypt it with AES-GCM, and its key with RSA-OAEP to a certificate in \
        this service's metadata";
    Refusal::new(Reason::Undecryptable, detail)
}

/// Decrypts an `EncryptedID` and returns its XML.
pub(crate) fn name_id(encrypted: Node<'_, '_>, keys: &[KeyPair]) -> Result<String, Refusal> {
    open(encrypted, keys).ok_or_else(failed_name_id)
}

/// Decrypts an `EncryptedAssertion` and returns its XML.
pub(crate) fn assertion(encrypted: Node<'_, '_>, keys: &[KeyPair]) -> Result<String, Refusal> {
    open(encrypted, keys).ok_or_else(failed)
}

fn open(encrypted: Node<'_, '_>, keys: &[KeyPair]) -> Option<String> {
    let mut children = elements(encrypted);
    let data = children.next().filter(|node| is(*node, ENC, "EncryptedData"))?;
    let mut wrapped: Vec<Node<'_, '_>> = Vec::new();
    for sibling in children {
        if !is(sibling, ENC, "EncryptedKey") {
            return None;
        }
        wrapped.push(sibling);
    }
    let info = child(data, DS, "KeyInfo");
    wrapped.extend(info.into_iter().flat_map(elements).filter(|node| is(*node, ENC, "EncryptedKey")));
    if wrapped.len() > MAX_RECIPIENTS {
        return None;
    }
    let cipher = match attribute(child(data, ENC, "EncryptionMethod")?, "Algorithm")? {
        "http://www.w3.org/2009/xmlenc11#aes128-gcm" => Cipher::aes_128_gcm(),
        "http://www.w3.org/2009/xmlenc11#aes192-gcm" => Cipher::aes_192_gcm(),
        "http://www.w3.org/2009/xmlenc11#aes256-gcm" => Cipher::aes_256_gcm(),
        _ => return None,
    };
    let sealed = value(data)?;
    let (nonce, rest) = sealed.split_at_checked(NONCE)?;
    let (body, tag) = rest.split_at_checked(rest.len().checked_sub(TAG)?)?;
    let plain = wrapped.iter().flat_map(|wrapped| keys.iter().map(move |key| (wrapped, key))).find_map(
        |(wrapped, key)| {
            let secret = unwrapped(*wrapped, key).filter(|secret| secret.len() == cipher.key_len())?;
            decrypt_aead(cipher, &secret, Some(nonce), &[], body, tag).ok()
        },
    )?;
    String::from_utf8(plain).ok().filter(|text| !text.contains('\0'))
}

/// Unwraps the content key if it was encrypted to `key`.
fn unwrapped(wrapped: Node<'_, '_>, key: &KeyPair) -> Option<Vec<u8>> {
    let method = child(wrapped, ENC, "EncryptionMethod")?;
    let digest = child(method, DS, "DigestMethod").and_then(|node| attribute(node, "Algorithm"));
    let digest = digest.map_or(Some(MessageDigest::sha1()), |uri| match uri {
        // OAEP does not depend on collision resistance, so SHA-1 is safe here.
        "http://www.w3.org/2000/09/xmldsig#sha1" => Some(MessageDigest::sha1()),
        "http://www.w3.org/2001/04/xmlenc#sha256" => Some(MessageDigest::sha256()),
        "http://www.w3.org/2001/04/xmldsig-more#sha384" => Some(MessageDigest::sha384()),
        "http://www.w3.org/2001/04/xmlenc#sha512" => Some(MessageDigest::sha512()),
        _ => None,
    })?;
    let mask = match attribute(method, "Algorithm")? {
        "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p" => MessageDigest::sha1(),
        "http://www.w3.org/2009/xmlenc11#rsa-oaep" => {
            let named = child(method, ENC11, "MGF").and_then(|node| attribute(node, "Algorithm"));
            match named.unwrap_or("http://www.w3.org/2009/xmlenc11#mgf1sha1") {
                "http://www.w3.org/2009/xmlenc11#mgf1sha1" => MessageDigest::sha1(),
                "http://www.w3.org/2009/xmlenc11#mgf1sha256" => MessageDigest::sha256(),
                "http://www.w3.org/2009/xmlenc11#mgf1sha384" => MessageDigest::sha384(),
                "http://www.w3.org/2009/xmlenc11#mgf1sha512" => MessageDigest::sha512(),
                _ => return None,
            }
        }
        _ => return None,
    };
    if child(method, ENC, "OAEPparams").is_some() {
        return None;
    }
    let private = PKey::private_key_from_pkcs8(key.private.expose()).ok()?;
    let mut decrypter = Decrypter::new(&private).ok()?;
    decrypter.set_rsa_padding(Padding::PKCS1_OAEP).ok()?;
    decrypter.set_rsa_oaep_md(digest).ok()?;
    decrypter.set_rsa_mgf1_md(mask).ok()?;
    let sealed = value(wrapped)?;
    let mut secret = vec![0; decrypter.decrypt_len(&sealed).ok()?];
    let length = decrypter.decrypt(&sealed, &mut secret).ok()?;
    secret.truncate(length);
    Some(secret)
}

/// Returns the bytes of a `CipherValue`.
fn value(node: Node<'_, '_>) -> Option<Vec<u8>> {
    let value = child(child(node, ENC, "CipherData")?, ENC, "CipherValue")?;
    let packed: String = only_text(value).ok()?.split_ascii_whitespace().collect();
    encode::base64(&packed).ok()
}
