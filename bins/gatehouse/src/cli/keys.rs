//! `gatehouse keys`

mod reencrypt;

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use audit::log::{CountersignError, SealRules, countersign};
use clap::{Args, Subcommand, ValueEnum};
use gate::{
    file_draft::{DraftError, FileDraft},
    key_ring::{KeyChange, KeyKind, KeyRing},
};
use kernel::{Ctx, Env, MasterKeys};
use serde_json::{Map, Value, json};
use store::Tx;

use super::{operator::Operator, report::Report, report::Result};
use crate::{
    config::{Raw, Settings, Source},
    secrets,
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
    /// Encrypt stored secrets with the first master key, so that the others can be retired
    #[command(after_help = "Example:\n  gatehouse keys reencrypt")]
    Reencrypt,
    /// Remove the last key of the list; what it signed is no longer valid. Audit logs are signed with a remaining key first
    #[command(after_help = "Example:\n  gatehouse keys retire --only auth-secret")]
    Retire {
        /// Key to retire. A master key that stored secrets, webhooks or domains need is refused
        #[arg(long, value_enum)]
        only: Setting,
        /// Retire a master key without checking whether something needs it
        #[arg(long)]
        force: bool,
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
    /// Retire without checking whether something needs the key
    #[arg(skip)]
    force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Setting {
    AuthSecret,
    MasterKey,
}

impl Setting {
    const ALL: [Self; 2] = [Self::AuthSecret, Self::MasterKey];

    /// Returns the name in the configuration file and in JSON, and the kind of key.
    fn parts(self) -> (&'static str, &'static str, KeyKind) {
        match self {
            Self::AuthSecret => ("auth_secret", "authSecret", KeyKind::AuthSecret),
            Self::MasterKey => ("master_key", "masterKey", KeyKind::MasterKey),
        }
    }

    fn name(self) -> &'static str {
        self.parts().0
    }
}

/// The keys of a setting.
struct SettingKeys {
    setting: Setting,
    source: Source,
    ring: KeyRing,
}

impl SettingKeys {
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
}

pub(crate) async fn run(command: &Command, config: Option<&Path>, env: Arc<dyn Env>) -> Result<Report> {
    match command {
        Command::List => Ok(report(&setting_keys(&gathered(config)?, None)?, &[])),
        Command::Rotate { prepare, promote, which } => {
            let change = match (prepare, promote) {
                (true, _) => KeyChange::Prepare,
                (_, true) => KeyChange::Promote,
                _ => KeyChange::Rotate,
            };
            changed(change, which, config, env).await
        }
        Command::Reencrypt => reencrypt::run(&gathered(config)?.settings()?, env).await,
        Command::Retire { only, force, print } => {
            let which = KeySelection { only: Some(*only), print: *print, force: *force };
            changed(KeyChange::Retire, &which, config, env).await
        }
    }
}

/// Signs all audit logs with a master key that remains, so that they verify without the oldest one. Unless it is forced, it
/// first requires that nothing else needs that key.
async fn hand_over(
    settings: &Settings,
    remaining: &KeyRing,
    is_forced: bool,
    env: Arc<dyn Env>,
) -> Result<()> {
    let (all, remaining): (_, MasterKeys) = (settings.master_keys(), remaining.text().parse()?);
    let office = Operator::open_with(settings, env).await?;
    let tenants = office.tenants().await?;
    if !is_forced {
        let unneeded = reencrypt::require_unneeded(&office, &tenants, &all, &remaining).await;
        unneeded.map_err(|error| format!("master_key: {error}. --force retires it without this check"))?;
    }
    let (all, remaining) = (SealRules::derive(&all), SealRules::derive(&remaining));
    for tenant in tenants {
        let sign = async || {
            let (all, remaining) = (all.clone(), remaining.clone());
            let work = async move |ctx: &Ctx, tx: &mut Tx| {
                countersign(tx, &ctx.tenant, &all, &remaining, ctx.now).await
            };
            office.write(&tenant.id, work).await
        };
        let mut signed = sign().await;
        // A running server seals entries within a second.
        for _ in 0..25 {
            let Err(CountersignError::Unsealed(_)) = signed else { break };
            tokio::time::sleep(Duration::from_millis(200)).await;
            signed = sign().await;
        }
        let done = signed.map_err(|error| format!("The audit log of {}: {error}", tenant.slug))?;
        if done.refused > 0 {
            eprintln!("gatehouse: warning: unsigned notes in the log of {}: {}", tenant.slug, done.refused);
        }
    }
    Ok(())
}

/// Reads and checks all settings, including generated secrets, so that no key is added beside an invalid one.
fn gathered(config: Option<&Path>) -> Result<Raw> {
    let mut raw = Raw::gather(config)?;
    secrets::read_kept(&raw.settings()?.data_dir, &mut raw)?;
    raw.settings()?;
    Ok(raw)
}

fn setting_keys(raw: &Raw, only: Option<Setting>) -> Result<Vec<SettingKeys>> {
    let mut all = Vec::new();
    for setting in Setting::ALL.into_iter().filter(|setting| only.is_none_or(|only| only == *setting)) {
        let name = setting.name();
        let (Some(source), Some(text)) = (raw.source(name), raw.secret(name)) else {
            return Err(format!(
                "{name}: not set. The first start of the server generates it on SQLite; on PostgreSQL set it"
            )
            .into());
        };
        let ring = KeyRing::new(setting.parts().2, text);
        all.push(SettingKeys { setting, source: source.clone(), ring });
    }
    Ok(all)
}

/// Reads the keys and changes them. A remaining key signs the audit logs before a master key is retired.
async fn change_all(
    change: KeyChange,
    which: &KeySelection,
    config: Option<&Path>,
    env: &Arc<dyn Env>,
) -> Result<Vec<SettingKeys>> {
    let raw = gathered(config)?;
    let (settings, mut all) = (raw.settings()?, setting_keys(&raw, which.only)?);
    let retires = change == KeyChange::Retire && settings.database_url.may_exist();
    for keys in &mut all {
        keys.ring.change(change, &**env).map_err(|error| format!("{}: {error}", keys.setting.name()))?;
        if retires && keys.setting == Setting::MasterKey {
            hand_over(&settings, &keys.ring, which.force, Arc::clone(env)).await?;
        }
    }
    Ok(all)
}

async fn changed(
    change: KeyChange,
    which: &KeySelection,
    config: Option<&Path>,
    env: Arc<dyn Env>,
) -> Result<Report> {
    if which.print {
        return Ok(printed(&change_all(change, which, config, &env).await?));
    }
    let before = setting_keys(&gathered(config)?, which.only)?;
    // The drafts lock these files. Read them again under the lock.
    let mut drafts = BTreeMap::new();
    for keys in &before {
        let path = keys.file()?;
        if !drafts.contains_key(path) {
            drafts.insert(path.to_owned(), draft(path)?);
        }
    }
    let all = change_all(change, which, config, &env).await?;
    // Write all drafts before the first replaces its file.
    for (path, draft) in &mut drafts {
        let mine: Vec<_> = all.iter().filter(|keys| keys.file().is_ok_and(|file| file == path)).collect();
        let text = match mine.first().map(|keys| &keys.source) {
            Some(Source::Kept(_)) => kept_with(path, &mine)?,
            _ => mine.first().map(|keys| keys.ring.text() + "\n").unwrap_or_default(),
        };
        draft.write(&text)?;
    }
    let mut written = Vec::new();
    for (path, draft) in drafts {
        draft.put()?;
        written.push(path.display().to_string());
    }
    Ok(report(&all, &written))
}

/// Locks a file against another rotation.
fn draft(path: &Path) -> Result<FileDraft> {
    let problem = |error: DraftError| {
        if error.is_locked() {
            format!(
                "{}: another rotation is running. If none is, an interrupted one left this file: delete it",
                error.path.display()
            )
        } else {
            error.to_string()
        }
    };
    Ok(FileDraft::begin(path).map_err(problem)?)
}

/// Prints the new values, for installations that store secrets elsewhere.
fn printed(all: &[SettingKeys]) -> Report {
    let json: Map<String, Value> =
        all.iter().map(|keys| (keys.setting.parts().1.into(), keys.ring.text().into())).collect();
    let lines: Vec<_> =
        all.iter().map(|keys| format!("{}={}", keys.setting.name(), keys.ring.text())).collect();
    Report::new(Value::Object(json), lines.join("\n"))
}

/// Returns the content of `secrets.toml` with changed keys.
fn kept_with(path: &Path, changed: &[&SettingKeys]) -> Result<String> {
    let mut kept = Raw::default();
    kept.file(&fs::read_to_string(path)?)?;
    let text = |setting: &Setting| {
        let keys = changed.iter().find(|keys| keys.setting == *setting);
        let text = keys.map(|keys| keys.ring.text());
        Some((setting.name(), text.or_else(|| kept.secret(setting.name()).map(str::to_owned))?))
    };
    let all: Vec<_> = Setting::ALL.iter().filter_map(text).collect();
    let all: Vec<_> = all.iter().map(|(name, text)| (*name, text.as_str())).collect();
    Ok(secrets::kept_text(&all))
}

fn report(all: &[SettingKeys], written: &[String]) -> Report {
    let mut json = Map::new();
    let mut lines = Vec::new();
    for keys in all {
        let labels = keys.ring.labels();
        lines.push(format!(
            "{}: {} (the first key signs, all verify)",
            keys.setting.name(),
            labels.join(", ")
        ));
        json.insert(keys.setting.parts().1.into(), json!({ "signs": labels.first(), "verify": labels }));
    }
    if !written.is_empty() {
        lines.push(format!("Wrote {}. Running servers reload it within a second.", written.join(", ")));
        json.insert("written".into(), json!(written));
    }
    Report::new(Value::Object(json), lines.join("\n"))
}
