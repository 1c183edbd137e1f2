//! `gatehouse keys`

use std::{
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown},
    path::Path,
};

use clap::{Args, Subcommand, ValueEnum};
use data_encoding::HEXLOWER;
use kernel::{Env, Id, Kind};
use serde_json::{Map, Value, json};

use super::{Report, Result};
use crate::{
    config::{Raw, Source},
    secrets::{self, AUTH_BYTES, MASTER_BYTES},
};

#[derive(Subcommand)]
pub(super) enum Command {
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
        which: Which,
    },
    /// Remove the last key: what it signed is good no more
    Retire {
        #[command(flatten)]
        which: Which,
    },
}

#[derive(Args)]
pub(super) struct Which {
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
enum Change {
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
struct Ring {
    setting: Setting,
    source: Source,
    keys: Vec<String>,
}

impl Ring {
    fn text(&self) -> String {
        self.keys.join(",")
    }

    fn labels(&self) -> Vec<String> {
        self.keys.iter().map(|key| self.setting.label(key)).collect()
    }

    fn change(&mut self, change: Change, env: &dyn Env) -> Result<()> {
        let name = self.setting.name();
        match change {
            Change::Rotate => self.keys.insert(0, self.setting.fresh(env)),
            Change::Prepare => self.keys.push(self.setting.fresh(env)),
            Change::Promote | Change::Retire if self.keys.len() < 2 => {
                return Err(format!("{name}: there is only one").into());
            }
            Change::Promote => self.keys.rotate_right(1),
            Change::Retire => {
                self.keys.pop();
            }
        }
        Ok(())
    }
}

pub(super) fn run(command: &Command, raw: &mut Raw, env: &dyn Env) -> Result<Report> {
    let settings = raw.settings()?;
    secrets::read_kept(&settings.data_dir, raw)?;
    // Checked before and after, so that no key is ever put beside one that cannot be used.
    raw.settings()?;
    match command {
        Command::List => Ok(report(&rings(raw, None)?, &[])),
        Command::Rotate { prepare, promote, which } => {
            let change = match (prepare, promote) {
                (true, _) => Change::Prepare,
                (_, true) => Change::Promote,
                _ => Change::Rotate,
            };
            changed(change, which, raw, env)
        }
        Command::Retire { which } => changed(Change::Retire, which, raw, env),
    }
}

fn rings(raw: &Raw, only: Option<Setting>) -> Result<Vec<Ring>> {
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
        rings.push(Ring { setting, source: source.clone(), keys: keys.map(named).collect() });
    }
    Ok(rings)
}

fn changed(change: Change, which: &Which, raw: &Raw, env: &dyn Env) -> Result<Report> {
    let mut rings = rings(raw, which.only)?;
    for ring in &mut rings {
        ring.change(change, env)?;
    }
    if which.print {
        let json: Map<String, Value> =
            rings.iter().map(|ring| (ring.setting.json_name().into(), ring.text().into())).collect();
        let lines: Vec<_> =
            rings.iter().map(|ring| format!("{}={}", ring.setting.name(), ring.text())).collect();
        return Ok(Report::new(Value::Object(json), lines.join("\n")));
    }
    if let Some(ring) = rings.iter().find(|ring| ring.source == Source::Said) {
        let name = ring.setting.name();
        return Err(format!(
            "{name} is a variable or stands in the configuration file, which this program does not write: \
             add --print, and put what it prints in its place; or keep it in a file of its own ({name}_file)"
        )
        .into());
    }
    let mut written = Vec::new();
    let kept: Vec<_> = rings.iter().filter(|ring| matches!(ring.source, Source::Kept(_))).collect();
    if let Some(Source::Kept(path)) = kept.first().map(|ring| &ring.source) {
        let text = |setting: Setting| {
            let changed = kept.iter().find(|ring| ring.setting == setting).map(|ring| ring.text());
            changed.or_else(|| raw.secret(setting.name()).map(str::to_owned)).unwrap_or_default()
        };
        replace(path, &secrets::kept_text(&text(Setting::AuthSecret), &text(Setting::MasterKey)))?;
        written.push(path.display().to_string());
    }
    for ring in &rings {
        if let Source::File(path) = &ring.source {
            replace(path, &format!("{}\n", ring.text()))?;
            written.push(path.display().to_string());
        }
    }
    Ok(report(&rings, &written))
}

fn report(rings: &[Ring], written: &[String]) -> Report {
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

/// Puts a new text in the place of a file at once, with the owner and the rights that it had.
fn replace(path: &Path, text: &str) -> Result<()> {
    let named = |error: std::io::Error| format!("{}: {error}", path.display());
    // A link goes on pointing to where it did.
    let path = &path.canonicalize().map_err(named)?;
    let before = fs::metadata(path).map_err(named)?;
    let mut draft = path.clone().into_os_string();
    draft.push(".new");
    let opened = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft);
    let mut file = opened.map_err(|error| {
        format!("{}: {error}: another rotation is under way, or one was cut short", draft.display())
    })?;
    let done = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| {
        let after = file.metadata()?;
        if (after.uid(), after.gid()) != (before.uid(), before.gid()) {
            chown(&draft, Some(before.uid()), Some(before.gid()))?;
        }
        file.set_permissions(fs::Permissions::from_mode(before.mode() & 0o777))?;
        fs::rename(&draft, path)?;
        path.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
    });
    if let Err(error) = done {
        let _already_gone = fs::remove_file(&draft);
        return Err(named(error).into());
    }
    Ok(())
}
