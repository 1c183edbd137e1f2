//! Recovery codes: ten, shown once, each good once.
//!
//! A code has 80 random bits, so its SHA-256 (over the person's id too) is enough to keep: nobody guesses
//! from it what a slow hash would have to protect.

use data_encoding::BASE32_NOPAD;
use kernel::{Env, Secret, TenantId, UserId};
use ring::digest;

/// How many there are.
pub const COUNT: usize = 10;
/// Random bytes of one.
const BYTES: usize = 10;
/// Characters between hyphens.
const GROUP: usize = 4;

/// New codes, such as `abcd-efgh-2345-67ab`.
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

/// What is kept of a code, and looked up by; however the person has typed it.
pub fn hash(tenant: &TenantId, user: &UserId, code: &str) -> [u8; 32] {
    let typed: String = code
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '-')
        .map(|c| match c.to_ascii_lowercase() {
            // What base32 does not have, people read for what it has.
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
    fn codes_differ_and_are_read_as_people_type_them() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let (tenant, user) = (TenantId::new(&env), UserId::new(&env));
        let codes = new_codes(&env);
        let hashes: BTreeSet<_> = codes.iter().map(|code| hash(&tenant, &user, code.expose())).collect();
        assert_eq!(hashes.len(), COUNT);
        let code = codes[0].expose();
        assert_eq!(code.len(), 19);
        let typed = format!(" {} ", code.to_uppercase().replace('-', " "));
        assert_eq!(hash(&tenant, &user, &typed), hash(&tenant, &user, code));
        let other = UserId::new(&env);
        assert_ne!(hash(&tenant, &other, code), hash(&tenant, &user, code));
    }
}
