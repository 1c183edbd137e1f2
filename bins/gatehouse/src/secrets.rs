//! The two secrets every installation has: checked for strength, made where the machine is alone.

use std::{
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    str::FromStr,
};

use data_encoding::BASE64;
use kernel::{Env, Secret};
use sessions::CookieSecret;

use crate::config::{self, Raw};

/// Secrets that seal session cookies, newest first.
pub struct AuthSecrets(Vec<CookieSecret>);

/// Keys that others are derived from, newest first, each with its id.
pub struct MasterKeys(kernel::MasterKeys);

const STRENGTH: &str = "make one with: openssl rand -base64 48";
const MASTER: &str = "write base64 of 32 random bytes; make one with: openssl rand -base64 32";

/// Words of examples and tutorials: whoever has read them knows the secret.
const WELL_KNOWN: [&str; 8] =
    ["changeme", "change-me", "change_me", "your-secret", "yoursecret", "supersecret", "example", "password"];

impl AuthSecrets {
    /// All of them, newest first.
    pub fn newest_first(&self) -> &[CookieSecret] {
        &self.0
    }
}

impl MasterKeys {
    /// All of them with their ids, newest first.
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
        return Err(format!("a secret of so few different characters is guessed; {STRENGTH}"));
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
        let refused = |_| "write id:key,id:key with ids of letters and digits, each once".to_owned();
        kernel::MasterKeys::new(keys).map(Self).map_err(refused)
    }
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> usize {
    values.collect::<std::collections::BTreeSet<_>>().len()
}

/// Makes a folder for data, with all before it; readable by its owner alone.
pub fn make_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Where the secrets that the server has made are kept.
fn kept_in(folder: &Path) -> PathBuf {
    folder.join("secrets.toml")
}

/// Adds the secrets kept in the data folder for those that are not set; makes them at the first start.
/// For a machine that is alone: several machines must be given the same ones.
pub fn keep_in(folder: &Path, raw: &mut Raw, env: &dyn Env) -> Result<(), config::Error> {
    if raw.has("auth_secret") && raw.has("master_key") {
        return Ok(());
    }
    let path = kept_in(folder);
    if !path.exists() {
        make(folder, env).map_err(|error| config::Error::new(format!("{}: {error}", path.display())))?;
        tracing::info!(path = %path.display(), "made the secrets of this installation");
    }
    read_kept(folder, raw)
}

/// Adds the secrets kept in the data folder, if there are any, for those that are not set.
pub fn read_kept(folder: &Path, raw: &mut Raw) -> Result<(), config::Error> {
    let path = kept_in(folder);
    let named = |error: &dyn std::fmt::Display| config::Error::new(format!("{}: {error}", path.display()));
    let mut kept = Raw::default();
    match std::fs::read_to_string(&path) {
        Ok(text) => kept.file(Secret::new(text).expose()).map_err(|error| named(&error))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(named(&error)),
    }
    raw.fill_from(kept, &path);
    Ok(())
}

fn make(folder: &Path, env: &dyn Env) -> std::io::Result<()> {
    make_folder(folder)?;
    let (auth, master) = (random(env, AUTH_BYTES), random(env, MASTER_BYTES));
    let text = kept_text(&[("auth_secret", &auth), ("master_key", &master)]);
    // Written beside and linked, so that no start ever reads half of it and of two that start at once one wins.
    let path = kept_in(folder);
    let draft = folder.join(format!("secrets.{}.tmp", std::process::id()));
    write_private(&draft, &text)?;
    match std::fs::hard_link(&draft, &path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => std::fs::remove_file(&draft),
    }
}

/// Bytes of a new `auth_secret`.
pub const AUTH_BYTES: usize = 48;
/// Bytes of a new `master_key`.
pub const MASTER_BYTES: usize = 32;

/// Random bytes in base64.
pub fn random(env: &dyn Env, length: usize) -> String {
    let mut bytes = vec![0; length];
    env.fill(&mut bytes);
    BASE64.encode(&bytes)
}

/// What `secrets.toml` says.
pub fn kept_text(secrets: &[(&str, &str)]) -> String {
    let mut text = String::from(
        "# Made by gatehouse. Keep a copy apart from the database: what they protect is lost with them.\n",
    );
    for (name, secret) in secrets {
        text += &[name, " = \"", secret, "\"\n"].concat();
    }
    text
}

/// Writes a new file that its owner alone can read, to the disk.
pub fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
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

    #[test]
    fn secrets_are_made_once_and_readable_by_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let env = kernel::SystemEnv::default();
        let mut texts = Vec::new();
        for _ in 0..2 {
            let mut raw = Raw::default();
            keep_in(folder.path(), &mut raw, &env).unwrap();
            let settings = raw.settings().unwrap();
            texts.push(settings.auth_secret.unwrap().newest_first()[0].expose().to_owned());
        }
        assert_eq!(texts[0], texts[1]);
        let mode = std::fs::metadata(folder.path().join("secrets.toml")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
