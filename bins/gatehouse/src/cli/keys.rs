//! `gatehouse keys`

use std::{
    collections::BTreeMap,
    fs,
    io::{ErrorKind, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand, ValueEnum};
use data_encoding::HEXLOWER;
use kernel::{Env, Id, Kind};
use serde_json::{Map, Value, json};

use super::{report::Report, report::Result};
use crate::{
    config::{Raw, Source},
    secrets::{self, AUTH_BYTES, MASTER_BYTES},
};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the keys without showing them
    #[command(after_help = "Example:\n  gatehouse keys list")]
    List,
    /// Add a new key that signs from now on; earlier keys still verify
    #[command(after_help = "Example:\n  gatehouse keys rotate --only auth-secret")]
    Rotate {
        /// Add the new key for verification only. With several instances, do this first
        #[arg(long, conflicts_with = "promote")]
        prepare: bool,
        /// Sign with the key that --prepare added. With several instances, do this once all have it
        #[arg(long)]
        promote: bool,
        #[command(flatten)]
        which: KeySelection,
    },
    /// Remove the oldest key; what it signed is no longer valid
    #[command(after_help = "Example:\n  gatehouse keys retire --only auth-secret")]
    Retire {
        /// Key to retire. Retiring master_key too early breaks webhooks and the audit log
        #[arg(long, value_enum)]
        only: Setting,
        /// Print the new value, including secrets, instead of writing it to its file
        #[arg(long)]
        print: bool,
    },
}

#[derive(Args)]
pub(crate) struct KeySelection {
    /// Act on this key only
    #[arg(long, value_enum)]
    only: Option<Setting>,
    /// Print the new value, including secrets, instead of writing it to its file
    #[arg(long)]
    print: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Setting {
    AuthSecret,
    MasterKey,
}

/// A change of a list of keys.
#[derive(Clone, Copy)]
enum KeyChange {
    Rotate,
    Prepare,
    Promote,
    Retire,
}

/// Marks key IDs.
enum Key {}
impl Kind for Key {
    const PREFIX: &'static str = "key";
}

impl Setting {
    const ALL: [Self; 2] = [Self::AuthSecret, Self::MasterKey];

    fn name(self) -> &'static str {
        match self {
            Self::AuthSecret => "auth_secret",
            Self::MasterKey => "master_key",
        }
    }

    fn json_name(self) -> &'static str {
        match self {
            Self::AuthSecret => "authSecret",
            Self::MasterKey => "masterKey",
        }
    }

    fn fresh(self, env: &dyn Env) -> String {
        match self {
            Self::AuthSecret => secrets::random(env, AUTH_BYTES),
            Self::MasterKey => {
                format!("{}:{}", Id::<Key>::new(env).key(), secrets::random(env, MASTER_BYTES))
            }
        }
    }

    /// Returns a name for the key that does not reveal it.
    fn label(self, key: &str) -> String {
        match self {
            Self::AuthSecret => {
                let digest = ring::digest::digest(&ring::digest::SHA256, key.as_bytes());
                HEXLOWER.encode(digest.as_ref().get(..4).unwrap_or_default())
            }
            Self::MasterKey => key.split_once(':').map_or("1", |(id, _)| id).to_owned(),
        }
    }
}

/// Keys of a setting, newest first.
struct KeyRing {
    setting: Setting,
    source: Source,
    keys: Vec<String>,
}

impl KeyRing {
    fn text(&self) -> String {
        self.keys.join(",")
    }

    /// Returns the file that contains the keys. Fails if this program does not write it.
    fn file(&self) -> Result<&Path> {
        match &self.source {
            Source::File(path) | Source::Kept(path) => Ok(path),
            Source::Said => {
                let name = self.setting.name();
                Err(format!(
                    "{name} is set by a variable or in the configuration file, which this command does not change. Add \
                     --print and set the printed value, or store the keys in a separate file ({name}_file)."
                )
                .into())
            }
        }
    }

    fn labels(&self) -> Vec<String> {
        self.keys.iter().map(|key| self.setting.label(key)).collect()
    }

    fn change(&mut self, change: KeyChange, env: &dyn Env) -> Result<()> {
        let name = self.setting.name();
        match change {
            KeyChange::Rotate => self.keys.insert(0, self.setting.fresh(env)),
            KeyChange::Prepare => self.keys.push(self.setting.fresh(env)),
            KeyChange::Promote | KeyChange::Retire if self.keys.len() < 2 => {
                return Err(format!("{name}: has only one key").into());
            }
            KeyChange::Promote => self.keys.rotate_right(1),
            KeyChange::Retire => {
                self.keys.pop();
            }
        }
        Ok(())
    }
}

pub(crate) fn run(command: &Command, config: Option<&Path>, env: &dyn Env) -> Result<Report> {
    match command {
        Command::List => Ok(report(&rings(&gathered(config)?, None)?, &[])),
        Command::Rotate { prepare, promote, which } => {
            let change = match (prepare, promote) {
                (true, _) => KeyChange::Prepare,
                (_, true) => KeyChange::Promote,
                _ => KeyChange::Rotate,
            };
            changed(change, which, config, env)
        }
        Command::Retire { only, print } => {
            let which = KeySelection { only: Some(*only), print: *print };
            changed(KeyChange::Retire, &which, config, env)
        }
    }
}

/// Reads and checks all settings, including generated secrets, so that no key is added beside an invalid one.
fn gathered(config: Option<&Path>) -> Result<Raw> {
    let mut raw = Raw::gather(config)?;
    secrets::read_kept(&raw.settings()?.data_dir, &mut raw)?;
    raw.settings()?;
    Ok(raw)
}

fn rings(raw: &Raw, only: Option<Setting>) -> Result<Vec<KeyRing>> {
    let mut rings = Vec::new();
    for setting in Setting::ALL.into_iter().filter(|setting| only.is_none_or(|only| only == *setting)) {
        let name = setting.name();
        let (Some(source), Some(text)) = (raw.source(name), raw.secret(name)) else {
            return Err(format!(
                "{name}: not set. The first start of the server generates it on SQLite; on PostgreSQL set it"
            )
            .into());
        };
        let keys = text.split(',').map(|key| key.trim().to_owned());
        // A key without an ID has the ID 1, which is written once there are several keys.
        let named = |key: String| {
            if setting == Setting::MasterKey && !key.contains(':') { format!("1:{key}") } else { key }
        };
        rings.push(KeyRing { setting, source: source.clone(), keys: keys.map(named).collect() });
    }
    Ok(rings)
}

fn changed(change: KeyChange, which: &KeySelection, config: Option<&Path>, env: &dyn Env) -> Result<Report> {
    let change_all = |mut rings: Vec<KeyRing>| -> Result<Vec<KeyRing>> {
        rings.iter_mut().try_for_each(|ring| ring.change(change, env))?;
        Ok(rings)
    };
    let before = rings(&gathered(config)?, which.only)?;
    if which.print {
        return Ok(printed(&change_all(before)?));
    }
    // The drafts lock these files. Read them again under the lock.
    let mut drafts = BTreeMap::new();
    for ring in &before {
        let path = ring.file()?;
        if !drafts.contains_key(path) {
            drafts.insert(path.to_owned(), FileDraft::begin(path)?);
        }
    }
    let rings = change_all(rings(&gathered(config)?, which.only)?)?;
    // Write all drafts before the first replaces its file.
    for (path, draft) in &mut drafts {
        let mine: Vec<_> = rings.iter().filter(|ring| ring.file().is_ok_and(|file| file == path)).collect();
        let text = match mine.first().map(|ring| &ring.source) {
            Some(Source::Kept(_)) => kept_with(path, &mine)?,
            _ => mine.first().map(|ring| ring.text() + "\n").unwrap_or_default(),
        };
        draft.write(&text)?;
    }
    let mut written = Vec::new();
    for (path, draft) in drafts {
        draft.put()?;
        written.push(path.display().to_string());
    }
    Ok(report(&rings, &written))
}

/// Prints the new values, for installations that store secrets elsewhere.
fn printed(rings: &[KeyRing]) -> Report {
    let json: Map<String, Value> =
        rings.iter().map(|ring| (ring.setting.json_name().into(), ring.text().into())).collect();
    let lines: Vec<_> = rings.iter().map(|ring| format!("{}={}", ring.setting.name(), ring.text())).collect();
    Report::new(Value::Object(json), lines.join("\n"))
}

/// Returns the content of `secrets.toml` with changed keys.
fn kept_with(path: &Path, changed: &[&KeyRing]) -> Result<String> {
    let mut kept = Raw::default();
    kept.file(&fs::read_to_string(path)?)?;
    let text = |setting: &Setting| {
        let ring = changed.iter().find(|ring| ring.setting == *setting).map(|ring| ring.text());
        Some((setting.name(), ring.or_else(|| kept.secret(setting.name()).map(str::to_owned))?))
    };
    let all: Vec<_> = Setting::ALL.iter().filter_map(text).collect();
    let all: Vec<_> = all.iter().map(|(name, text)| (*name, text.as_str())).collect();
    Ok(secrets::kept_text(&all))
}

fn report(rings: &[KeyRing], written: &[String]) -> Report {
    let mut json = Map::new();
    let mut lines = Vec::new();
    for ring in rings {
        let labels = ring.labels();
        lines.push(format!(
            "{}: {} (the first key signs, all verify)",
            ring.setting.name(),
            labels.join(", ")
        ));
        json.insert(ring.setting.json_name().into(), json!({ "signs": labels.first(), "verify": labels }));
    }
    if !written.is_empty() {
        lines.push(format!("Wrote {}. Running servers reload it within a second.", written.join(", ")));
        json.insert("written".into(), json!(written));
    }
    Report::new(Value::Object(json), lines.join("\n"))
}

/// New content of a file, in a file beside it until it replaces it. Its existence is the lock against another rotation.
struct FileDraft {
    target: PathBuf,
    path: PathBuf,
    file: fs::File,
}

impl FileDraft {
    fn begin(path: &Path) -> Result<Self> {
        // Replace the target of a symbolic link, not the link.
        let target = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
        let mut path = target.clone().into_os_string();
        path.push(".new");
        let path = PathBuf::from(path);
        let opened = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = opened.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                format!(
                    "{}: another rotation is running. If none is, an interrupted one left this file: delete it",
                    path.display()
                )
            }
            _ => format!("{}: {error}", path.display()),
        })?;
        Ok(Self { target, path, file })
    }

    /// Writes and syncs the content with the file's owner and permissions.
    fn write(&mut self, text: &str) -> std::io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        let (before, after) = (fs::metadata(&self.target)?, self.file.metadata()?);
        if (after.uid(), after.gid()) != (before.uid(), before.gid()) {
            chown(&self.path, Some(before.uid()), Some(before.gid()))?;
        }
        self.file.set_permissions(fs::Permissions::from_mode(before.mode() & 0o777))?;
        self.file.sync_all()
    }

    /// Replaces the file.
    fn put(self) -> std::io::Result<()> {
        fs::rename(&self.path, &self.target)?;
        self.target.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
    }
}

impl Drop for FileDraft {
    fn drop(&mut self) {
        let _in_its_place = fs::remove_file(&self.path);
    }
}
