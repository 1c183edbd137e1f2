//! Recovery codes: ten codes, shown once, each valid once.
//!
//! A code has 128 random bits. A fast hash is therefore enough (OWASP ASVS 5.0, 6.5.2): storage keeps its SHA-256 over
//! tenant, user and code.

use data_encoding::BASE32_NOPAD;
use kernel::{Env, Secret, TenantId, UserId};
use ring::digest;

/// Number of codes.
pub const COUNT: usize = 10;
/// Random bytes per code.
const BYTES: usize = 16;
/// Characters between hyphens.
const GROUP: usize = 4;

/// Generates codes such as `abcd-efgh-2345-67ab-cdef-gh23-ab`.
pub fn new_codes(env: &dyn Env) -> Vec<Secret<String>> {
    let code = |_| {
        let mut bytes = [0; BYTES];
        env.fill(&mut bytes);
        let text = Secret::new(BASE32_NOPAD.encode(&bytes).to_ascii_lowercase());
        let groups: Vec<_> =
            text.expose().as_bytes().chunks(GROUP).map(|group| String::from_utf8_lossy(group)).collect();
        Secret::new(groups.join("-"))
    };
    (0..COUNT).map(code).collect()
}

/// Returns the stored hash of a code. Ignores case, spaces and hyphens.
pub fn hash(tenant: &TenantId, user: &UserId, code: &str) -> [u8; 32] {
    let typed: String = code
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '-')
        .map(|c| match c.to_ascii_lowercase() {
            // Base32 lacks these digits. Read them as the letters they resemble.
            '0' => 'o',
            '1' => 'l',
            '8' => 'b',
            other => other,
        })
        .collect();
    let text = Secret::new([tenant.as_str(), user.as_str(), &typed].join("\0"));
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, text.expose().as_bytes()).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kernel::ManualEnv;

    use super::*;

    #[test]
    fn codes_are_unique_and_tolerate_typing_variants() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let (tenant, user) = (TenantId::new(&env), UserId::new(&env));
        let codes = new_codes(&env);
        let hashes: BTreeSet<_> = codes.iter().map(|code| hash(&tenant, &user, code.expose())).collect();
        assert_eq!(hashes.len(), COUNT);
        let code = codes[0].expose();
        assert_eq!(code.len(), 32);
        let typed = format!(" {} ", code.to_uppercase().replace('-', " "));
        assert_eq!(hash(&tenant, &user, &typed), hash(&tenant, &user, code));
        // Digits that base32 lacks count as the letters they resemble.
        assert_eq!(hash(&tenant, &user, "0a1b-8C"), hash(&tenant, &user, "oalb bc"));
        let other = UserId::new(&env);
        assert_ne!(hash(&tenant, &other, code), hash(&tenant, &user, code));
    }
}
