//! The hash of one entry.
//!
//! `SHA-256(0x00 | field | field | …)` (RFC 6962 §2.1's leaf prefix), each field preceded by its length
//! in bytes as eight big-endian bytes, in the order of [`Entry::leaf`](crate::Entry::leaf). Personal
//! values enter as HMAC-SHA256 under a salt kept beside the entry: when the salt is erased the value
//! can no longer be confirmed, and the hash still stands.

use ring::{digest, hmac};

/// Bytes of a salt.
pub(crate) const SALT_LEN: usize = 16;

/// The hash of these fields, each behind its length.
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

/// The commitment to a personal value; empty when there is none.
pub(crate) fn commitment(salt: &[u8], value: Option<&str>) -> Vec<u8> {
    let Some(value) = value else { return Vec::new() };
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, salt), value.as_bytes()).as_ref().to_vec()
}
