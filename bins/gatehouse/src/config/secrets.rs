//! The two secrets of an installation, checked for strength.

use std::str::FromStr;

use data_encoding::BASE64;
use kernel::Secret;
use sessions::CookieSecret;

/// Secrets that sign session cookies, newest first.
pub struct AuthSecrets(Vec<CookieSecret>);

/// Keys from which others are derived, newest first, each with its ID.
pub struct MasterKeys(kernel::MasterKeys);

const STRENGTH: &str = "generate one with: openssl rand -base64 48";
const MASTER: &str = "write base64 of 32 random bytes; generate them with: openssl rand -base64 32";

/// Words from examples and tutorials, which attackers try first.
const WELL_KNOWN: [&str; 8] =
    ["changeme", "change-me", "change_me", "your-secret", "yoursecret", "supersecret", "example", "password"];

impl AuthSecrets {
    /// Returns all secrets, newest first.
    pub fn newest_first(&self) -> &[CookieSecret] {
        &self.0
    }
}

impl MasterKeys {
    /// Returns all keys with their IDs, newest first.
    pub fn newest_first(&self) -> &kernel::MasterKeys {
        &self.0
    }
}

impl FromStr for AuthSecrets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(|secret| strong(secret.trim())).collect::<Result<_, _>>().map(Self)
    }
}

fn strong(secret: &str) -> Result<CookieSecret, String> {
    let checked = CookieSecret::new(secret.to_owned()).map_err(|_| {
        format!("each secret needs at least {} characters; {STRENGTH}", CookieSecret::MIN_CHARACTERS)
    })?;
    let lower = secret.to_ascii_lowercase();
    if let Some(word) = WELL_KNOWN.iter().find(|word| lower.contains(**word)) {
        return Err(format!("a secret that contains \"{word}\" comes from an example; {STRENGTH}"));
    }
    if distinct(secret.chars()) < 10 {
        return Err(format!("the secret has too few different characters; {STRENGTH}"));
    }
    Ok(checked)
}

impl FromStr for MasterKeys {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut keys: Vec<(String, Secret<Vec<u8>>)> = Vec::new();
        for word in text.split(',') {
            let (id, key) = word.trim().split_once(':').unwrap_or(("1", word.trim()));
            let bytes = BASE64.decode(key.as_bytes()).map_err(|_| MASTER)?;
            if bytes.len() != 32 || distinct(bytes.iter().copied()) < 10 {
                return Err(MASTER.into());
            }
            keys.push((id.to_owned(), Secret::new(bytes)));
        }
        let refused = |_| "write id:key,id:key with unique IDs of letters and digits".to_owned();
        kernel::MasterKeys::new(keys).map(Self).map_err(refused)
    }
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> usize {
    values.collect::<std::collections::BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem<T: FromStr<Err = String>>(text: &str) -> String {
        text.parse::<T>().err().unwrap_or_default()
    }

    #[test]
    fn weak_secrets_are_refused() {
        let good = "q3LZ8Fj0yD1uWm7xTnB5cKe9RsAhVgPi";
        assert_eq!(format!("{good},{good}x").parse::<AuthSecrets>().ok().unwrap().newest_first().len(), 2);
        for weak in [
            "",
            &good[1..],
            &"a".repeat(64),
            "please-changeme-please-changeme-0123456789",
            &format!("{good},x"),
        ] {
            assert_ne!(problem::<AuthSecrets>(weak), "", "{weak}");
        }
    }

    #[test]
    fn master_keys_are_32_bytes_with_ids() {
        let key = BASE64.encode(&(0..32).collect::<Vec<u8>>());
        assert_eq!(key.parse::<MasterKeys>().ok().unwrap().newest_first().iter().next().unwrap().0, "1");
        let ring = format!("b:{key},a:{key}").parse::<MasterKeys>().ok().unwrap();
        assert_eq!(ring.newest_first().iter().map(|(id, _)| id).collect::<Vec<_>>(), ["b", "a"]);
        for weak in
            ["", "abc", &BASE64.encode(&[0; 32]), &BASE64.encode(&[1; 31]), &format!("a:{key},a:{key}")]
        {
            assert_ne!(problem::<MasterKeys>(weak), "", "{weak}");
        }
    }
}
