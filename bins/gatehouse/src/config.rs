//! Settings: a TOML file, then `GATEHOUSE_…` variables over it. Each key stands once, in [`KEYS`].

use std::{
    collections::BTreeMap,
    fmt,
    net::SocketAddr,
    num::NonZeroU32,
    path::{Path, PathBuf},
    str::FromStr,
};

use cidr::IpCidr;
use kernel::Secret;
use store::DatabaseUrl;

use crate::secrets::{AuthSecrets, MasterKeys};

/// What the variables begin with.
pub const PREFIX: &str = "GATEHOUSE_";

/// The variable that names the file, which is no setting of its own.
pub const FILE_VARIABLE: &str = "GATEHOUSE_CONFIG_FILE";

/// A setting as it is documented.
pub struct Key {
    /// Its name in the file; in capitals behind [`PREFIX`] it is the variable.
    pub name: &'static str,
    /// What it is when nobody says.
    pub default: &'static str,
    /// What it does, for `docs/configuration.md`.
    pub help: &'static str,
}

/// All settings.
pub const KEYS: &[Key] = &[
    Key {
        name: "database_url",
        default: "sqlite:{data_dir}/gatehouse.db",
        help: "Where the data is: `sqlite:PATH` or `postgres://user:password@host/database`.",
    },
    Key {
        name: "bind",
        default: "127.0.0.1:8080",
        help: "Address and port to listen on; port 0 takes a free one.",
    },
    Key {
        name: "base_url",
        default: "http://{the address really bound}",
        help: "What clients see before the path: scheme, host, port if any; no final slash. With `https` answers carry HSTS.",
    },
    Key {
        name: "data_dir",
        default: "data",
        help: "Folder for the SQLite database and for secrets made at the first start.",
    },
    Key {
        name: "auth_secret",
        default: "made at the first start in `{data_dir}/secrets.toml` (SQLite only)",
        help: "Signs sessions: one or more, separated by commas, newest first, each of at least 32 characters, used as UTF-8 bytes.",
    },
    Key {
        name: "master_key",
        default: "made at the first start in `{data_dir}/secrets.toml` (SQLite only)",
        help: "What other keys are derived from: base64 of 32 bytes, or `id:key,id:key`, newest first.",
    },
    Key {
        name: "trusted_proxies",
        default: "none",
        help: "Addresses or ranges of proxies whose word about the client's address counts, separated by commas.",
    },
    Key {
        name: "proxy_header",
        default: "X-Forwarded-For",
        help: "The one header that trusted proxies write: `X-Forwarded-For` or `Forwarded`. The other is ignored.",
    },
    Key {
        name: "metrics_bind",
        default: "none: `/metrics` is on the server's own address",
        help: "Address and port for `/metrics` alone, which then is nowhere else; it needs no credential.",
    },
    Key {
        name: "scim_rates",
        default: "25,100,400",
        help: "SCIM requests a second of a FREE, a STANDARD and an ENTERPRISE tenant, on each instance; twice that at once.",
    },
    Key { name: "database_pool", default: "5", help: "PostgreSQL connections of each worker at most." },
    Key { name: "workers", default: "one a processor", help: "Threads that answer requests." },
    Key { name: "log_format", default: "json", help: "`json`, one object a line, or `pretty` for people." },
    Key {
        name: "log_level",
        default: "info",
        help: "`error`, `warn`, `info` (a line a request), `debug` or `trace`.",
    },
];

/// What [`KEYS`] says of `scim_rates`.
const SCIM_RATES: [NonZeroU32; 3] =
    [NonZeroU32::new(25).unwrap(), NonZeroU32::new(100).unwrap(), NonZeroU32::new(400).unwrap()];

/// How the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One object a line.
    Json,
    /// For people.
    Pretty,
}

/// The header that trusted proxies write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyHeader {
    /// `X-Forwarded-For`
    XForwardedFor,
    /// `Forwarded` (RFC 7239)
    Forwarded,
}

/// All settings, checked.
pub struct Settings {
    /// See [`KEYS`].
    pub database_url: DatabaseUrl,
    /// See [`KEYS`].
    pub bind: SocketAddr,
    /// See [`KEYS`]; `None`: the address really bound.
    pub base_url: Option<String>,
    /// See [`KEYS`].
    pub data_dir: PathBuf,
    /// See [`KEYS`].
    pub auth_secret: Option<AuthSecrets>,
    /// See [`KEYS`].
    pub master_key: Option<MasterKeys>,
    /// See [`KEYS`].
    pub trusted_proxies: Vec<IpCidr>,
    /// See [`KEYS`].
    pub proxy_header: ProxyHeader,
    /// See [`KEYS`].
    pub metrics_bind: Option<SocketAddr>,
    /// See [`KEYS`]: of a FREE, a STANDARD and an ENTERPRISE tenant.
    pub scim_rates: [NonZeroU32; 3],
    /// See [`KEYS`].
    pub database_pool: usize,
    /// See [`KEYS`].
    pub workers: Option<usize>,
    /// See [`KEYS`].
    pub log_format: LogFormat,
    /// See [`KEYS`].
    pub log_level: tracing::Level,
}

/// A setting that cannot be used: which, and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub(crate) fn new(problem: String) -> Self {
        Self(problem)
    }

    fn of(name: &str, problem: impl fmt::Display) -> Self {
        Self(format!("{name} ({PREFIX}{}): {problem}", name.to_ascii_uppercase()))
    }
}

/// Settings as text, before they are checked.
#[derive(Default)]
pub struct Raw(BTreeMap<&'static str, Secret<String>>);

impl Raw {
    /// Reads the file, if any, and the variables of this process over it.
    pub fn gather(file: Option<&Path>) -> Result<Self, Error> {
        let mut raw = Self::default();
        if let Some(path) = file {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Error(format!("{}: {error}", path.display())))?;
            raw.file(&text).map_err(|Error(problem)| Error(format!("{}: {problem}", path.display())))?;
        }
        for (name, value) in std::env::vars_os() {
            let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
            if let Some(key) = name.strip_prefix(PREFIX).filter(|_| name != FILE_VARIABLE) {
                raw.set(&key.to_ascii_lowercase(), value.to_owned())?;
            }
        }
        Ok(raw)
    }

    /// Sets one by its name in the file.
    pub fn set(&mut self, name: &str, value: String) -> Result<(), Error> {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            let close = KEYS.iter().map(|key| (distance(key.name, name), key.name)).min();
            let hint = close
                .filter(|(distance, _)| *distance <= 3)
                .map(|(_, name)| format!("; did you mean {name}?"));
            let hint = hint.unwrap_or_else(|| "; see docs/configuration.md for those there are".into());
            return Err(Error::of(name, format!("no such setting{hint}")));
        };
        self.0.insert(key.name, Secret::new(value));
        Ok(())
    }

    /// Takes over the settings of a TOML file.
    pub fn file(&mut self, text: &str) -> Result<(), Error> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| Error(error.to_string()))?;
        for (name, value) in table {
            let text = match value {
                toml::Value::Array(values) => {
                    let words: Option<Vec<_>> = values.into_iter().map(plain).collect();
                    words.map(|words| words.join(","))
                }
                other => plain(other),
            };
            let Some(text) = text else {
                return Err(Error::of(&name, "write a string, a number, or an array of strings"));
            };
            self.set(&name, text)?;
        }
        Ok(())
    }

    /// Takes over what is not set yet.
    pub fn fill_from(&mut self, other: Self) {
        for (name, value) in other.0 {
            self.0.entry(name).or_insert(value);
        }
    }

    /// Whether this one is set.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.expose().as_str())
    }

    fn parsed<T: FromStr<Err: fmt::Display>>(&self, name: &str) -> Result<Option<T>, Error> {
        self.text(name).map(|text| text.trim().parse().map_err(|error| Error::of(name, error))).transpose()
    }

    /// Checks everything.
    pub fn settings(&self) -> Result<Settings, Error> {
        let data_dir = PathBuf::from(self.text("data_dir").unwrap_or("data"));
        let beside = DatabaseUrl::Sqlite(data_dir.join("gatehouse.db"));
        let words = |words: &str| Error::of("bind", format!("write an address and a port such as {words}"));
        let bind = self.text("bind").unwrap_or("127.0.0.1:8080").parse();
        Ok(Settings {
            database_url: self.parsed("database_url")?.unwrap_or(beside),
            bind: bind.map_err(|_| words("127.0.0.1:8080 or [::]:8080"))?,
            base_url: self.text("base_url").map(base_url).transpose()?,
            data_dir,
            auth_secret: self.parsed("auth_secret")?,
            master_key: self.parsed("master_key")?,
            trusted_proxies: self.ranges("trusted_proxies")?,
            proxy_header: self.parsed("proxy_header")?.unwrap_or(ProxyHeader::XForwardedFor),
            metrics_bind: self.parsed("metrics_bind")?,
            scim_rates: self.rates("scim_rates")?.unwrap_or(SCIM_RATES),
            database_pool: self.count("database_pool", 1..=1000)?.unwrap_or(5),
            workers: self.count("workers", 1..=1024)?,
            log_format: self.parsed("log_format")?.unwrap_or(LogFormat::Json),
            log_level: self.parsed("log_level")?.unwrap_or(tracing::Level::INFO),
        })
    }

    fn rates(&self, name: &str) -> Result<Option<[NonZeroU32; 3]>, Error> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let numbers: Vec<_> = text.split(',').filter_map(|word| word.trim().parse().ok()).collect();
        let three = <[NonZeroU32; 3]>::try_from(numbers).ok().filter(|_| text.split(',').count() == 3);
        let three = three.filter(|rates| rates.iter().all(|rate| rate.get() <= 1_000_000));
        let problem = "write three numbers from 1 to 1000000 such as 25,100,400";
        three.map(Some).ok_or_else(|| Error::of(name, problem))
    }

    fn count(&self, name: &str, range: std::ops::RangeInclusive<usize>) -> Result<Option<usize>, Error> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.trim().parse() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(Error::of(name, format!("write a number from {} to {}", range.start(), range.end()))),
        }
    }

    fn ranges(&self, name: &str) -> Result<Vec<IpCidr>, Error> {
        let words =
            self.text(name).unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
        words
            .map(|word| {
                let problem =
                    |_| Error::of(name, format!("{word} is not an address or range such as 10.0.0.0/8"));
                word.parse().map_err(problem)
            })
            .collect()
    }
}

fn plain(value: toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text),
        toml::Value::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

fn base_url(text: &str) -> Result<String, Error> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let origin = |rest: &str| !rest.is_empty() && !rest.contains(['/', '?', '#', '@', ' ', '"', '\\']);
    match rest {
        Some(rest) if origin(rest) && rest.is_ascii() => Ok(text.to_owned()),
        _ => Err(Error::of(
            "base_url",
            "write an origin without a final slash, such as https://gate.example.com",
        )),
    }
}

impl FromStr for LogFormat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "json" => Ok(Self::Json),
            "pretty" => Ok(Self::Pretty),
            _ => Err("write json or pretty"),
        }
    }
}

impl FromStr for ProxyHeader {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.to_ascii_lowercase().as_str() {
            "x-forwarded-for" => Ok(Self::XForwardedFor),
            "forwarded" => Ok(Self::Forwarded),
            _ => Err("write X-Forwarded-For or Forwarded"),
        }
    }
}

/// Letters to change, add or drop to get from one word to the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut next = vec![i + 1];
        for ((b, above), diagonal) in right.iter().zip(row.iter().skip(1)).zip(&row) {
            let before = next.last().copied().unwrap_or_default();
            next.push((above + 1).min(before + 1).min(diagonal + usize::from(a != *b)));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(file: &str) -> Result<Settings, String> {
        let mut raw = Raw::default();
        raw.file(file).and_then(|()| raw.settings()).map_err(|error| error.to_string())
    }

    fn problem(file: &str) -> String {
        settings(file).err().unwrap()
    }

    #[test]
    fn defaults_are_for_one_machine() {
        let settings = settings("").unwrap();
        assert!(settings.database_url == DatabaseUrl::Sqlite("data/gatehouse.db".into()));
        assert_eq!(settings.bind.to_string(), "127.0.0.1:8080");
        assert!(settings.auth_secret.is_none() && settings.base_url.is_none());
    }

    #[test]
    fn a_file_sets_everything() {
        let settings = settings(
            r#"
            database_url = "postgres://gate:x@db/gatehouse"
            bind = "[::]:9000"
            base_url = "https://gate.example.com"
            trusted_proxies = ["10.0.0.0/8", "::1"]
            proxy_header = "Forwarded"
            database_pool = 4
            log_format = "pretty"
            "#,
        )
        .unwrap();
        assert_eq!(settings.trusted_proxies.len(), 2);
        assert_eq!(settings.proxy_header, ProxyHeader::Forwarded);
        assert_eq!(settings.database_pool, 4);
    }

    #[test]
    fn problems_say_what_to_write() {
        insta::assert_snapshot!(problem("bnd = '127.0.0.1:1'"), @"bnd (GATEHOUSE_BND): no such setting; did you mean bind?");
        insta::assert_snapshot!(problem("colour = 'red'"), @"colour (GATEHOUSE_COLOUR): no such setting; see docs/configuration.md for those there are");
        insta::assert_snapshot!(problem("bind = '8080'"), @"bind (GATEHOUSE_BIND): write an address and a port such as 127.0.0.1:8080 or [::]:8080");
        insta::assert_snapshot!(problem("base_url = 'https://gate.example.com/'"), @"base_url (GATEHOUSE_BASE_URL): write an origin without a final slash, such as https://gate.example.com");
        insta::assert_snapshot!(problem("database_url = 'mysql://x'"), @"database_url (GATEHOUSE_DATABASE_URL): write sqlite:PATH or postgres://user:password@host/database");
        insta::assert_snapshot!(problem("trusted_proxies = '10.0.0.1/8'"), @"trusted_proxies (GATEHOUSE_TRUSTED_PROXIES): 10.0.0.1/8 is not an address or range such as 10.0.0.0/8");
        insta::assert_snapshot!(problem("database_pool = 0"), @"database_pool (GATEHOUSE_DATABASE_POOL): write a number from 1 to 1000");
        insta::assert_snapshot!(problem("auth_secret = 'short'"), @"auth_secret (GATEHOUSE_AUTH_SECRET): each secret needs at least 32 characters; make one with: openssl rand -base64 48");
        insta::assert_snapshot!(problem("log_level = true"), @"log_level (GATEHOUSE_LOG_LEVEL): write a string, a number, or an array of strings");
    }

    #[test]
    fn every_setting_is_documented() {
        let docs = include_str!("../../../docs/configuration.md");
        for key in KEYS {
            let row = format!("| `{}` | {} | {} |", key.name, key.default, key.help);
            assert!(docs.contains(&row), "docs/configuration.md has no row\n{row}");
        }
    }
}
