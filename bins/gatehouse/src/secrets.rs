//! The secrets that the server has made where the machine is alone.

use std::{
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use data_encoding::BASE64;
use kernel::{Env, Secret};

use crate::config::{self, Raw};

/// Makes a folder for data, with all before it; readable by its owner alone.
pub fn create_folder(folder: &Path) -> std::io::Result<()> {
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
        create_files(folder, env)
            .map_err(|error| config::Error::new(format!("{}: {error}", path.display())))?;
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

fn create_files(folder: &Path, env: &dyn Env) -> std::io::Result<()> {
    create_folder(folder)?;
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
