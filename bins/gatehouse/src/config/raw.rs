//! Settings as text: reads the file and the variables.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use kernel::Secret;

use super::{
    error::Error,
    keys::{FILE_VARIABLE, KEYS, PREFIX, SECRETS},
};

/// Settings as text, before they are checked.
#[derive(Default)]
pub struct Raw(BTreeMap<&'static str, Value>);

struct Value {
    text: Secret<String>,
    source: Source,
}

/// Source of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A variable or a line of the configuration file.
    Said,
    /// A separate file, named by `…_FILE`.
    File(PathBuf),
    /// `secrets.toml` in the data directory, which the server generated.
    Kept(PathBuf),
}

impl Raw {
    /// Reads the file, if any, and then the variables of this process, which override it.
    pub fn gather(file: Option<&Path>) -> Result<Self, Error> {
        let mut raw = Self::default();
        if let Some(path) = file {
            let named = |error: &dyn std::fmt::Display| Error::new(format!("{}: {error}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
            raw.file(&text).map_err(|error| named(&error))?;
        }
        let mut variables = Self::default();
        for (name, value) in std::env::vars_os() {
            let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
            if let Some(key) = name.strip_prefix(PREFIX).filter(|_| name != FILE_VARIABLE) {
                variables.add(&key.to_ascii_lowercase(), value.to_owned())?;
            }
        }
        raw.0.extend(variables.0);
        Ok(raw)
    }

    /// Sets a setting by its name in the file.
    pub fn set(&mut self, name: &str, value: String) -> Result<(), Error> {
        let (name, value) = named(name, value)?;
        self.0.insert(name, value);
        Ok(())
    }

    /// Sets a setting that must not be set yet: `auth_secret` and `auth_secret_file` are one setting.
    fn add(&mut self, name: &str, value: String) -> Result<(), Error> {
        let (name, value) = named(name, value)?;
        match self.0.insert(name, value) {
            None => Ok(()),
            Some(_) => Err(Error::of(name, format!("is set twice, directly and by {name}_file"))),
        }
    }

    /// Adds the settings of a TOML file.
    pub fn file(&mut self, text: &str) -> Result<(), Error> {
        // Without the line itself, which may contain a secret.
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            Error::new(format!("line {}: {}", before.matches('\n').count() + 1, error.message()))
        })?;
        let mut settings = Self::default();
        for (name, value) in table {
            let text = match value {
                toml::Value::Array(values) => {
                    let words: Option<Vec<_>> = values.into_iter().map(plain).collect();
                    words.map(|words| words.join(","))
                }
                other => plain(other),
            };
            let Some(text) = text else {
                return Err(Error::of(&name, "write a string, an integer, a boolean or an array of strings"));
            };
            settings.add(&name, text)?;
        }
        self.0.extend(settings.0);
        Ok(())
    }

    /// Adds the generated settings of a file, except those that are set.
    pub fn fill_from(&mut self, kept: Self, file: &Path) {
        for (name, value) in kept.0 {
            let source = Source::Kept(file.to_owned());
            self.0.entry(name).or_insert(Value { text: value.text, source });
        }
    }

    /// Returns whether a setting is set.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the source of a setting, if it is set.
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.0.get(name).map(|value| &value.source)
    }

    /// Returns the files, apart from the configuration file, that secrets were read from.
    pub(crate) fn secret_files(&self) -> BTreeSet<&Path> {
        let files = SECRETS.iter().filter_map(|name| match self.source(name)? {
            Source::Said => None,
            Source::File(path) | Source::Kept(path) => Some(path.as_path()),
        });
        files.collect()
    }

    /// Returns the text of a secret, for the command that changes it.
    pub(crate) fn secret(&self, name: &str) -> Option<&str> {
        self.text(name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.text.expose().as_str())
    }
}

/// Returns the setting with this name; for the name of a secret with `_file`, the content of that file.
fn named(name: &str, value: String) -> Result<(&'static str, Value), Error> {
    let find = |name: &str| KEYS.iter().find(|key| key.name == name).map(|key| key.name);
    if let Some(key) = find(name) {
        return Ok((key, Value { text: Secret::new(value), source: Source::Said }));
    }
    let secret = name.strip_suffix("_file").and_then(find).filter(|key| SECRETS.contains(key));
    if let Some(key) = secret {
        let text =
            std::fs::read_to_string(&value).map_err(|error| Error::of(name, format!("{value}: {error}")))?;
        let text = Secret::new(text);
        let line = Secret::new(text.expose().trim().to_owned());
        return Ok((key, Value { text: line, source: Source::File(value.into()) }));
    }
    let close = KEYS.iter().map(|key| (strsim::levenshtein(key.name, name), key.name)).min();
    let hint =
        close.filter(|(distance, _)| *distance <= 3).map(|(_, name)| format!(". Did you mean {name}?"));
    let hint = hint.unwrap_or_else(|| ". List settings with: gatehouse reference settings".into());
    Err(Error::of(name, format!("unknown setting{hint}")))
}

fn plain(value: toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}
