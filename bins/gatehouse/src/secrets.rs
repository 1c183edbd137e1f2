//! Secrets that the server generates for a single-machine installation.

use std::{
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use data_encoding::BASE64;
use kernel::{Env, Secret};

use crate::config::{self, Raw};

/// Creates a data folder with its parents, readable only by its owner.
pub fn create_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Returns the path of the generated secrets.
fn kept_in(folder: &Path) -> PathBuf {
    folder.join("secrets.toml")
}

/// Fills settings that are not set with the secrets in the data folder, and generates these at the first start.
/// For a single machine: several machines must be configured with the same secrets.
pub fn keep_in(folder: &Path, raw: &mut Raw, env: &dyn Env) -> Result<(), config::Error> {
    if raw.has("auth_secret") && raw.has("master_key") {
        return Ok(());
    }
    let path = kept_in(folder);
    if !path.exists() {
        create_files(folder, env)
            .map_err(|error| config::Error::new(format!("{}: {error}", path.display())))?;
        tracing::info!(path = %path.display(), "made the secrets of this installation");
    }
    read_kept(folder, raw)
}

/// Fills settings that are not set with the secrets in the data folder, if there are any.
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

fn create_files(folder: &Path, env: &dyn Env) -> std::io::Result<()> {
    create_folder(folder)?;
    let (auth, master) = (random(env, AUTH_BYTES), random(env, MASTER_BYTES));
    let text = kept_text(&[("auth_secret", &auth), ("master_key", &master)]);
    // Write a draft and link it: no start reads a partial file, and of two concurrent starts one wins.
    let path = kept_in(folder);
    let draft = folder.join(format!("secrets.{}.tmp", std::process::id()));
    write_private(&draft, &text)?;
    match std::fs::hard_link(&draft, &path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => std::fs::remove_file(&draft),
    }
}

/// Size of a new `auth_secret` in bytes.
pub const AUTH_BYTES: usize = 48;
/// Size of a new `master_key` in bytes.
pub const MASTER_BYTES: usize = 32;

/// Returns random bytes in base64.
pub fn random(env: &dyn Env, length: usize) -> String {
    let mut bytes = vec![0; length];
    env.fill(&mut bytes);
    BASE64.encode(&bytes)
}

/// Returns the content of `secrets.toml`.
pub fn kept_text(secrets: &[(&str, &str)]) -> String {
    let mut text = String::from(
        "# Made by gatehouse. Keep a copy apart from the database: what they protect is lost with them.\n",
    );
    for (name, secret) in secrets {
        text += &[name, " = \"", secret, "\"\n"].concat();
    }
    text
}

/// Creates a file that only its owner can read, and syncs it to disk.
pub fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_generated_once_and_readable_only_by_their_owner() {
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
