//! The secrets of session cookies, checked for strength.

use std::{collections::BTreeSet, str::FromStr};

use crate::CookieSecret;

/// Secrets of session cookies, newest first.
#[derive(Clone)]
pub struct CookieSecrets(Vec<CookieSecret>);

/// How to generate a secret.
const GENERATE: &str = "generate one with: openssl rand -base64 48";

/// The reason for refusing a secret that an operator wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakSecret {
    /// The secret is too short.
    #[error("each secret needs at least {} characters; {}", CookieSecret::MIN_CHARACTERS, GENERATE)]
    Short,
    /// The secret contains a word from examples.
    #[error("a secret that contains \"{0}\" comes from an example; {hint}", hint = GENERATE)]
    Example(&'static str),
    /// The secret is not random.
    #[error("the secret has too few different characters; {}", GENERATE)]
    Uniform,
}

/// Words from examples and tutorials, which attackers try first.
const WELL_KNOWN: [&str; 8] =
    ["changeme", "change-me", "change_me", "your-secret", "yoursecret", "supersecret", "example", "password"];

/// Minimum number of different characters. Random secrets have more.
const DISTINCT_CHARACTERS: usize = 10;

impl CookieSecrets {
    /// Returns all secrets, newest first.
    pub fn newest_first(&self) -> &[CookieSecret] {
        &self.0
    }
}

impl FromStr for CookieSecrets {
    type Err = WeakSecret;

    /// Parses secrets that are separated by commas, newest first.
    fn from_str(text: &str) -> Result<Self, WeakSecret> {
        text.split(',').map(|secret| strong(secret.trim())).collect::<Result<_, _>>().map(Self)
    }
}

fn strong(secret: &str) -> Result<CookieSecret, WeakSecret> {
    let checked = CookieSecret::new(secret.to_owned()).map_err(|_| WeakSecret::Short)?;
    let lower = secret.to_ascii_lowercase();
    if let Some(word) = WELL_KNOWN.into_iter().find(|word| lower.contains(word)) {
        return Err(WeakSecret::Example(word));
    }
    let distinct: BTreeSet<char> = secret.chars().collect();
    if distinct.len() < DISTINCT_CHARACTERS { Err(WeakSecret::Uniform) } else { Ok(checked) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_secrets_are_refused() {
        let good = "q3LZ8Fj0yD1uWm7xTnB5cKe9RsAhVgPi";
        let problem = |text: &str| text.parse::<CookieSecrets>().err();
        assert_eq!(
            format!("{good}, {good}x").parse::<CookieSecrets>().ok().unwrap().newest_first()[1].expose(),
            format!("{good}x")
        );
        for (weak, because) in [
            ("", WeakSecret::Short),
            (&good[1..], WeakSecret::Short),
            (&format!("{good},x"), WeakSecret::Short),
            (&"a".repeat(64), WeakSecret::Uniform),
            ("please-changeme-please-changeme-0123456789", WeakSecret::Example("changeme")),
        ] {
            assert_eq!(problem(weak), Some(because), "{weak}");
        }
        let of = |count: usize| "abcdefghijklmnopqrstuvwxyz"[..count].repeat(32 / count + 1);
        assert_eq!(problem(&of(DISTINCT_CHARACTERS)), None);
        assert_eq!(problem(&of(DISTINCT_CHARACTERS - 1)), Some(WeakSecret::Uniform));
    }
}
