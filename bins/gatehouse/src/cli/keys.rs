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
    /// Say which keys there are, without showing them
    List,
    /// Put a new key first: it signs from now on, and all verify
    Rotate {
        /// Put the new key last instead: it verifies, and signs nothing yet (many machines: do this first)
        #[arg(long, conflicts_with = "promote")]
        prepare: bool,
        /// Put the last key first instead of a new one (many machines: when all have what --prepare made)
        #[arg(long)]
        promote: bool,
        #[command(flatten)]
        which: KeySelection,
    },
    /// Remove the last key: what it signed is good no more
    Retire {
        #[command(flatten)]
        which: KeySelection,
    },
}

#[derive(Args)]
pub(crate) struct KeySelection {
    /// Only this one of the two
    #[arg(long, value_enum)]
    only: Option<Setting>,
    /// Print the new value, secrets and all, instead of writing it to the file it came from
    #[arg(long)]
    print: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Setting {
    AuthSecret,
    MasterKey,
}

/// What becomes of a list of keys.
#[derive(Clone, Copy)]
enum KeyChange {
    Rotate,
    Prepare,
    Promote,
    Retire,
}

/// Marks ids of keys.
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

    /// What a key is called, so that nobody can tell from it what it is.
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

/// The keys of a setting, newest first.
struct KeyRing {
    setting: Setting,
    source: Source,
    keys: Vec<String>,
}

impl KeyRing {
    fn text(&self) -> String {
        self.keys.join(",")
    }

    /// The file it is in, if this program writes it.
    fn file(&self) -> Result<&Path> {
        match &self.source {
            Source::File(path) | Source::Kept(path) => Ok(path),
            Source::Said => {
                let name = self.setting.name();
                Err(format!(
                    "{name} is a variable or stands in the configuration file, which this program does not write: \
                     add --print, and put what it prints in its place; or keep it in a file of its own ({name}_file)"
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
                return Err(format!("{name}: there is only one").into());
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
        Command::Retire { which } => changed(KeyChange::Retire, which, config, env),
    }
}

/// All settings as they are now, with those that the server keeps: checked, so that no key is put beside one that
/// cannot be used.
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
            return Err(format!("{name}: there is none yet; see docs/configuration.md").into());
        };
        let keys = text.split(',').map(|key| key.trim().to_owned());
        // A key without an id is the one called 1, and says so beside others.
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
    // From here on nobody else changes these files; what is changed is what they say now.
    let mut drafts = BTreeMap::new();
    for ring in &before {
        let path = ring.file()?;
        if !drafts.contains_key(path) {
            drafts.insert(path.to_owned(), FileDraft::begin(path)?);
        }
    }
    let rings = change_all(rings(&gathered(config)?, which.only)?)?;
    // All are written before the first takes effect.
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

/// The new values, for whoever keeps them where this program does not write.
fn printed(rings: &[KeyRing]) -> Report {
    let json: Map<String, Value> =
        rings.iter().map(|ring| (ring.setting.json_name().into(), ring.text().into())).collect();
    let lines: Vec<_> = rings.iter().map(|ring| format!("{}={}", ring.setting.name(), ring.text())).collect();
    Report::new(Value::Object(json), lines.join("\n"))
}

/// The kept file as it is, with these in it changed.
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
        lines.push(format!("{}: {} (the first signs, all verify)", ring.setting.name(), labels.join(", ")));
        json.insert(ring.setting.json_name().into(), json!({ "signs": labels.first(), "verify": labels }));
    }
    if !written.is_empty() {
        lines.push(format!("written to {}; servers follow within a second", written.join(", ")));
        json.insert("written".into(), json!(written));
    }
    Report::new(Value::Object(json), lines.join("\n"))
}

/// A new text for a file, beside it until it takes its place. While there is one, nobody makes another.
struct FileDraft {
    target: PathBuf,
    path: PathBuf,
    file: fs::File,
}

impl FileDraft {
    fn begin(path: &Path) -> Result<Self> {
        // A link goes on pointing to where it did.
        let target = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
        let mut path = target.clone().into_os_string();
        path.push(".new");
        let path = PathBuf::from(path);
        let opened = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = opened.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                format!(
                    "{}: another rotation is under way, or one was cut short and left this file",
                    path.display()
                )
            }
            _ => format!("{}: {error}", path.display()),
        })?;
        Ok(Self { target, path, file })
    }

    /// Writes the text to the disk, with the owner and the rights that the file has.
    fn write(&mut self, text: &str) -> std::io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        let (before, after) = (fs::metadata(&self.target)?, self.file.metadata()?);
        if (after.uid(), after.gid()) != (before.uid(), before.gid()) {
            chown(&self.path, Some(before.uid()), Some(before.gid()))?;
        }
        self.file.set_permissions(fs::Permissions::from_mode(before.mode() & 0o777))?;
        self.file.sync_all()
    }

    /// Takes the file's place.
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
