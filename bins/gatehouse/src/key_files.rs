//! Loads the keys of the settings again when a file that contains them changes.

use std::path::{Path, PathBuf};

use crate::{
    config::{Raw, Settings},
    secrets,
};
use gate::{
    file_watch::FileWatch,
    keys::{KeySource, Keys, NewKeys},
};
use sessions::CookieSecrets;

struct KeyFiles {
    config: Option<PathBuf>,
    data_dir: PathBuf,
    watch: FileWatch,
}

/// Returns the keys of these settings. Keys from a file are reloaded when the file changes.
pub(crate) fn follow(raw: &Raw, settings: &Settings, config: Option<&Path>) -> Keys {
    let files = raw.secret_files().into_iter().chain(config);
    let watch = FileWatch::new(files.map(Path::to_owned).collect());
    let source = KeyFiles { config: config.map(Path::to_owned), data_dir: settings.data_dir.clone(), watch };
    Keys::watched(&keys_of(settings), Box::new(source))
}

fn keys_of(settings: &Settings) -> NewKeys {
    let auth = settings.auth_secret.as_ref().map(CookieSecrets::newest_first);
    NewKeys { masters: settings.master_keys(), auth: auth.unwrap_or_default().to_vec() }
}

impl KeyFiles {
    fn read(&self) -> Result<NewKeys, String> {
        let said = |error: crate::config::Error| error.to_string();
        let mut raw = Raw::gather(self.config.as_deref()).map_err(said)?;
        secrets::read_kept(&self.data_dir, &mut raw).map_err(said)?;
        let keys = keys_of(&raw.settings().map_err(said)?);
        if keys.masters.is_empty() || keys.auth.is_empty() {
            return Err("master_key or auth_secret is missing from the file".into());
        }
        Ok(keys)
    }
}

impl KeySource for KeyFiles {
    fn changed(&mut self) -> Option<Result<NewKeys, String>> {
        if !self.watch.changed() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.watch.forget();
        }
        Some(read)
    }
}
