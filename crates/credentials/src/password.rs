//! Passwords: argon2id (RFC 9106), and which ones are taken (NIST SP 800-63B §5.1.1).

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use kernel::{Env, Secret};
use unicode_normalization::UnicodeNormalization;

/// Characters that a password has at least where it stands alone.
const MIN_ALONE: usize = 15;
/// The same where a second factor is enforced.
const MIN_WITH_FACTOR: usize = 8;
/// Bytes that are taken at most.
const MAX_BYTES: usize = 1024;
/// Bytes of a salt.
const SALT: usize = 16;

/// Passwords that everybody tries, in lower case, one a line.
const BLOCKED: &str = include_str!("blocked.txt");

/// What a hash costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
    /// Lanes.
    pub lanes: u32,
}

impl Cost {
    /// 19 MiB, two passes, one lane: OWASP's first choice.
    pub const USUAL: Self = Self { memory_kib: 19 * 1024, passes: 2, lanes: 1 };
    /// For tests that are not about cost.
    pub const CHEAP: Self = Self { memory_kib: 64, passes: 1, lanes: 1 };

    fn params(self) -> Option<Params> {
        Params::new(self.memory_kib, self.passes, self.lanes, None).ok()
    }
}

/// Hashes and verifies at a cost.
#[derive(Debug, Clone, Copy)]
pub struct Passwords {
    cost: Cost,
}

/// What came of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Another password, or there is none.
    Wrong,
    /// The password.
    Right {
        /// Whether it was hashed at another cost than today's, and is to be hashed again.
        stale: bool,
    },
}

/// The library refused its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the password cannot be hashed")]
pub struct PasswordError;

impl Passwords {
    /// New hashes cost this much.
    pub fn new(cost: Cost) -> Self {
        Self { cost }
    }

    fn argon2(self) -> Result<Argon2<'static>, PasswordError> {
        let params = self.cost.params().ok_or(PasswordError)?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }

    /// A hash in PHC form. Takes the time it is meant to take: not for a thread that serves others.
    pub fn hash(self, env: &dyn Env, password: &Secret<String>) -> Result<String, PasswordError> {
        let mut salt = [0; SALT];
        env.fill(&mut salt);
        let password = normalised(password.expose());
        let hash = self.argon2()?.hash_password_with_salt(password.expose().as_bytes(), &salt);
        Ok(hash.map_err(|_| PasswordError)?.to_string())
    }

    /// Compares with a kept hash. Without one it takes as long and says [`Verdict::Wrong`]: who measures
    /// learns nothing about who has a password.
    pub fn verify(self, password: &Secret<String>, kept: Option<&str>) -> Verdict {
        let kept = kept.and_then(|kept| PasswordHash::new(kept).ok());
        let password = if password.expose().len() > MAX_BYTES { None } else { Some(password) };
        let normal = normalised(password.map_or("", |password| password.expose()));
        let bytes = normal.expose().as_bytes();
        let (Some(kept), Some(_)) = (kept, password) else {
            if let Ok(argon2) = self.argon2() {
                let _spent = argon2.hash_password_with_salt(bytes, &[0; SALT]);
            }
            return Verdict::Wrong;
        };
        if Argon2::default().verify_password(bytes, &kept).is_err() {
            return Verdict::Wrong;
        }
        let costs =
            |params: Option<Params>| params.map(|params| (params.m_cost(), params.t_cost(), params.p_cost()));
        Verdict::Right { stale: costs(Params::try_from(&kept).ok()) != costs(self.cost.params()) }
    }
}

/// One form for all the ways a keyboard may write the same (NFKC).
fn normalised(password: &str) -> Secret<String> {
    Secret::new(password.nfkc().collect())
}

/// Why a password is not taken: what to do instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Weak {
    /// Too short to stand alone.
    #[error("use at least {0} characters: a few words in a row are fine")]
    Short(usize),
    /// Longer than anybody types.
    #[error("use at most {MAX_BYTES} bytes")]
    Long,
    /// Everybody tries it first.
    #[error("this password is on every attacker's list; choose another")]
    Common,
    /// Made of the person's own address or the product's name.
    #[error("do not use your address or the name of this service as the password")]
    OwnName,
    /// `aaaa…` or `1234…`.
    #[error("do not use one character, or one sequence, over and over")]
    Monotone,
}

/// Characters that a new password needs at least.
pub fn password_min(factor_enforced: bool) -> usize {
    if factor_enforced { MIN_WITH_FACTOR } else { MIN_ALONE }
}

/// Whether a new password is taken. No rules about kinds of characters: length is what counts.
pub fn check_new_password(
    password: &Secret<String>,
    email: Option<&str>,
    factor_enforced: bool,
) -> Result<(), Weak> {
    if password.expose().len() > MAX_BYTES {
        return Err(Weak::Long);
    }
    let normal = normalised(password.expose());
    let least = password_min(factor_enforced);
    if normal.expose().chars().count() < least {
        return Err(Weak::Short(least));
    }
    let folded = Secret::new(normal.expose().to_lowercase());
    let text = folded.expose().as_str();
    if BLOCKED.lines().any(|blocked| repeats(text, blocked)) {
        return Err(Weak::Common);
    }
    let email = email.unwrap_or_default().to_lowercase();
    let local = email.split('@').next().unwrap_or_default();
    if [email.as_str(), local, "gatehouse"].iter().any(|name| name.len() >= 4 && mostly(text, name)) {
        return Err(Weak::OwnName);
    }
    let codes: Vec<u32> = text.chars().map(u32::from).collect();
    let step = |pair: &[u32]| match pair {
        [a, b] => Some(i64::from(*b) - i64::from(*a)),
        _ => None,
    };
    let steps: Vec<_> = codes.windows(2).filter_map(step).collect();
    let same = steps.iter().filter(|step| (-1..=1).contains(*step)).count();
    if same * 10 >= steps.len() * 8 {
        return Err(Weak::Monotone);
    }
    Ok(())
}

/// Whether the text is the word once or over and over, digits and signs at its end aside.
fn repeats(text: &str, word: &str) -> bool {
    if word.is_empty() || !text.starts_with(word) {
        return false;
    }
    let mut rest = text;
    while let Some(after) = rest.strip_prefix(word) {
        rest = after;
    }
    rest.chars().count() <= 4 && !rest.chars().any(char::is_alphabetic)
}

/// Whether the word makes up most of the text.
fn mostly(text: &str, word: &str) -> bool {
    text.contains(word) && word.chars().count() * 10 >= text.chars().count() * 6
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    fn said(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    #[test]
    fn a_hash_is_of_its_password_alone() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let cheap = Passwords::new(Cost::CHEAP);
        let kept = cheap.hash(&env, &said("correct horse battery")).unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{kept}");
        assert_ne!(kept, cheap.hash(&env, &said("correct horse battery")).unwrap(), "salted");
        assert_eq!(
            cheap.verify(&said("correct horse battery"), Some(&kept)),
            Verdict::Right { stale: false }
        );
        for wrong in ["correct horse batterx", "", "correct horse battery "] {
            assert_eq!(cheap.verify(&said(wrong), Some(&kept)), Verdict::Wrong);
        }
        assert_eq!(cheap.verify(&said("correct horse battery"), None), Verdict::Wrong);
        assert_eq!(cheap.verify(&said("x"), Some("not a hash")), Verdict::Wrong);
        let dearer = Passwords::new(Cost { passes: 2, ..Cost::CHEAP });
        assert_eq!(
            dearer.verify(&said("correct horse battery"), Some(&kept)),
            Verdict::Right { stale: true }
        );
        assert_eq!(cheap.verify(&said(&"x".repeat(MAX_BYTES + 1)), Some(&kept)), Verdict::Wrong);
    }

    #[test]
    fn the_usual_cost_is_owasps() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let kept = Passwords::new(Cost::USUAL).hash(&env, &said("x")).unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
    }

    #[test]
    fn one_password_however_the_keyboard_writes_it() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let cheap = Passwords::new(Cost::CHEAP);
        let kept = cheap.hash(&env, &said("Zu\u{308}rich ist scho\u{308}n")).unwrap();
        assert_eq!(cheap.verify(&said("Zürich ist schön"), Some(&kept)), Verdict::Right { stale: false });
    }

    #[test]
    fn length_counts_and_lists_are_refused() {
        let check =
            |text: &str, factor| check_new_password(&said(text), Some("ada.lovelace@example.com"), factor);
        assert_eq!(check("a ship in a bottle", false), Ok(()));
        assert_eq!(check("längere Wörter zählen auch", false), Ok(()));
        assert_eq!(check("14 characters!", false), Err(Weak::Short(15)));
        assert_eq!(check("tr0mb0ne", true), Ok(()));
        assert_eq!(check("7 chars", true), Err(Weak::Short(8)));
        assert_eq!(check(&"long words ".repeat(90), false), Ok(()));
        assert_eq!(check(&"x".repeat(MAX_BYTES + 1), false), Err(Weak::Long));
        assert_eq!(check("Password1234", true), Err(Weak::Common));
        assert_eq!(check("passwordpassword1!", false), Err(Weak::Common));
        assert_eq!(check("ada.lovelace@example.com1", false), Err(Weak::OwnName));
        assert_eq!(check("gatehouse2026!", true), Err(Weak::OwnName));
        assert_eq!(check("aaaaaaaaaaaaaaaaaaaa", false), Err(Weak::Monotone));
        assert_eq!(check("abcdefghijklmnopqrst", false), Err(Weak::Monotone));
    }
}
