//! The leaf hash of an entry.
//!
//! `SHA-256(0x00 | field | field | …)` (the leaf prefix of RFC 6962 §2.1). Each field is preceded by its length as
//! eight big-endian bytes, in the order of [`Entry::leaf`](crate::Entry::leaf). Personal values are included as
//! HMAC-SHA256 under a salt stored with the entry. Erasing the salt makes the value unconfirmable, while the hash
//! stays valid.

use ring::{digest, hmac};

/// Length of a salt, in bytes.
pub(crate) const SALT_LEN: usize = 16;

/// Hashes these fields, each after its length.
pub(crate) fn leaf(fields: [&[u8]; 10]) -> [u8; 32] {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(&[0]);
    for field in fields {
        context.update(&(field.len() as u64).to_be_bytes());
        context.update(field);
    }
    let mut leaf = [0; 32];
    leaf.copy_from_slice(context.finish().as_ref());
    leaf
}

/// Computes the commitment to a personal value; empty if there is none.
pub(crate) fn commitment(salt: &[u8], value: Option<&str>) -> Vec<u8> {
    let Some(value) = value else { return Vec::new() };
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, salt), value.as_bytes()).as_ref().to_vec()
}
