//! Settings: a TOML file, then `GATEHOUSE_…` variables over it. [`KEYS`] lists each key.

mod base_url;
mod error;
mod keys;
mod raw;

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use attestation::TrustFiles;
use cidr::IpCidr;
use credentials::Cost;
use kernel::{MasterKeys, Secret};
use netpolicy::{Cidr, ProxyHeader};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use sessions::{CookieName, CookieSecrets};
use store::DatabaseUrl;

use self::base_url::base_url;
pub use self::{
    error::Error,
    keys::{FILE_VARIABLE, KEYS, Key, PREFIX, SECRETS},
    raw::{Raw, Source},
};
pub use gate::{logs::LogFormat, tls::TlsFiles};

/// Pools of connections for webhook deliveries, log streams, signals, single sign-on with statistics, sealing with other jobs,
/// upkeep, and probes.
const POOLS_BESIDE_WORKERS: usize = 7;
/// Default of `scim_rates`.
const SCIM_RATES: [NonZeroU32; 3] =
    [NonZeroU32::new(25).unwrap(), NonZeroU32::new(100).unwrap(), NonZeroU32::new(400).unwrap()];

/// Role of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Answers requests and runs background jobs.
    All,
    /// Answers requests.
    Api,
    /// Runs background jobs.
    Worker,
}

impl Role {
    /// Returns whether the instance answers API requests.
    pub fn answers(self) -> bool {
        self != Self::Worker
    }

    /// Returns whether the instance runs background jobs.
    pub fn works(self) -> bool {
        self != Self::Api
    }
}

impl FromStr for Role {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "all" => Ok(Self::All),
            "api" => Ok(Self::Api),
            "worker" => Ok(Self::Worker),
            _ => Err("write all, api or worker"),
        }
    }
}

/// Settings of webhook deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// Non-public ranges that deliveries may reach.
    pub allow_cidrs: Vec<IpCidr>,
    /// Whether `http` URLs are allowed.
    pub allow_http: bool,
    /// Certificate authorities to trust in addition to the operating system's.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// Concurrent deliveries per webhook.
    pub in_flight: usize,
    /// Deliveries per second and webhook; `None`: no limit.
    pub rate: Option<NonZeroU32>,
}

/// All settings, checked.
pub struct Settings {
    /// See [`KEYS`].
    pub database_url: DatabaseUrl,
    /// See [`KEYS`].
    pub bind: SocketAddr,
    /// See [`KEYS`]; `None`: derived from `bind`.
    pub base_url: Option<String>,
    /// See [`KEYS`].
    pub data_dir: PathBuf,
    /// See [`KEYS`].
    pub auth_secret: Option<CookieSecrets>,
    /// See [`KEYS`].
    pub master_key: Option<MasterKeys>,
    /// See [`KEYS`].
    pub trusted_proxies: Vec<Cidr>,
    /// See [`KEYS`].
    pub proxy_header: ProxyHeader,
    /// See [`KEYS`].
    pub metrics_bind: Option<SocketAddr>,
    /// See [`KEYS`].
    pub session_cookie: CookieName,
    /// See [`KEYS`].
    pub device_bound_sessions: bool,
    /// See [`KEYS`].
    pub password_cost: Cost,
    /// See [`KEYS`].
    pub breached_passwords: Option<PathBuf>,
    /// See [`KEYS`].
    pub smtp_url: Option<Secret<String>>,
    /// See [`KEYS`].
    pub smtp_from: Option<String>,
    /// See [`KEYS`].
    pub geo_database: Option<PathBuf>,
    /// See [`KEYS`]: for FREE, STANDARD and ENTERPRISE tenants.
    pub scim_rates: [NonZeroU32; 3],
    /// See [`KEYS`]: `attestation_…`.
    pub makers: TrustFiles,
    /// See [`KEYS`]: certificates and key.
    pub tls: Option<TlsFiles>,
    /// See [`KEYS`].
    pub drain: Duration,
    /// See [`KEYS`].
    pub export_limit: Duration,
    /// See [`KEYS`]; `None`: derived from the number of worker threads.
    pub max_in_flight: Option<usize>,
    /// See [`KEYS`].
    pub max_bodies_per_address: usize,
    /// See [`KEYS`]: in bytes.
    pub max_body_memory: usize,
    /// See [`KEYS`].
    pub max_connections_per_address: usize,
    /// See [`KEYS`].
    pub otlp_endpoint: Option<String>,
    /// See [`KEYS`].
    pub database_pool: usize,
    /// See [`KEYS`].
    pub role: Role,
    /// See [`KEYS`].
    pub audit_accept_missing_macs_until: Option<kernel::Timestamp>,
    /// See [`KEYS`].
    pub webhooks: WebhookSettings,
    /// See [`KEYS`].
    pub return_origins: Vec<String>,
    /// See [`KEYS`].
    pub webauthn_related_origins: Vec<String>,
    /// See [`KEYS`]; empty: those of `/etc/resolv.conf`.
    pub dns_servers: Vec<SocketAddr>,
    /// See [`KEYS`].
    pub workers: Option<usize>,
    /// See [`KEYS`].
    pub log_format: LogFormat,
    /// See [`KEYS`].
    pub log_level: tracing::Level,
}

impl Settings {
    /// Returns `base_url`, or its default.
    pub(crate) fn base_url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.base_url.clone().unwrap_or_else(|| gate::server::default_base_url(scheme, self.bind))
    }

    /// Returns `workers`, or its default.
    pub(crate) fn workers(&self) -> usize {
        self.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Returns the maximum number of a server's connections to PostgreSQL: the pools of the workers and those beside them, and
    /// one that listens for notifications.
    pub(crate) fn connections(&self) -> usize {
        (self.workers() + POOLS_BESIDE_WORKERS).saturating_mul(self.database_pool).saturating_add(1)
    }

    /// Returns the master keys, newest first; empty if none is set.
    pub(crate) fn master_keys(&self) -> MasterKeys {
        self.master_key.clone().unwrap_or_default()
    }
}

impl Raw {
    fn parsed<T: FromStr<Err: fmt::Display>>(&self, name: &str) -> Result<Option<T>, Error> {
        self.text(name).map(|text| text.trim().parse().map_err(|error| Error::of(name, error))).transpose()
    }

    /// Parses and validates all settings.
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
            session_cookie: self.session_cookie()?,
            device_bound_sessions: self.device_bound_sessions()?,
            password_cost: self.password_cost()?,
            breached_passwords: self.text("breached_passwords").map(PathBuf::from),
            smtp_url: self.text("smtp_url").map(|url| Secret::new(url.to_owned())),
            smtp_from: self.text("smtp_from").map(str::to_owned),
            geo_database: self.text("geo_database").map(PathBuf::from),
            scim_rates: self.rates("scim_rates")?.unwrap_or(SCIM_RATES),
            makers: self.authenticator_metadata()?,
            tls: self.tls()?,
            drain: Duration::from_secs(self.count("drain_seconds", 0..=600)?.unwrap_or(5) as u64),
            export_limit: Duration::from_secs(
                self.count("audit_export_seconds", 1..=3600)?.unwrap_or(300) as u64
            ),
            max_in_flight: self.count("max_in_flight", 1..=100_000)?,
            max_bodies_per_address: self.count("max_bodies_per_address", 1..=100_000)?.unwrap_or(64),
            max_body_memory: self.count("max_body_memory_mib", 4..=65_536)?.unwrap_or(64) * 1024 * 1024,
            max_connections_per_address: self
                .count("max_connections_per_address", 8..=100_000)?
                .unwrap_or(1024),
            otlp_endpoint: self.otlp_endpoint()?,
            database_pool: self.count("database_pool", 1..=1000)?.unwrap_or(5),
            role: self.parsed("role")?.unwrap_or(Role::All),
            audit_accept_missing_macs_until: self.parsed("audit_accept_missing_macs_until")?,
            webhooks: self.webhooks()?,
            return_origins: self.origins("return_origins")?,
            webauthn_related_origins: self.origins("webauthn_related_origins")?,
            dns_servers: self.dns_servers()?,
            workers: self.count("workers", 1..=1024)?,
            log_format: self.parsed("log_format")?.unwrap_or(LogFormat::Json),
            log_level: self.parsed("log_level")?.unwrap_or(tracing::Level::INFO),
        })
    }

    fn session_cookie(&self) -> Result<CookieName, Error> {
        let Some(text) = self.text("session_cookie") else { return Ok(CookieName::Plain) };
        let known = CookieName::ALL.into_iter().find(|name| name.as_str() == text);
        known.ok_or_else(|| {
            Error::of("session_cookie", "write authjs.session-token or __Secure-authjs.session-token")
        })
    }

    fn device_bound_sessions(&self) -> Result<bool, Error> {
        let is_on = self.parsed("device_bound_sessions")?.unwrap_or(false);
        let has_tls = self.text("tls_cert").is_some();
        if is_on && !self.text("base_url").map_or(has_tls, |url| url.trim().starts_with("https:")) {
            return Err(Error::of("device_bound_sessions", "needs a base_url that begins with https"));
        }
        Ok(is_on)
    }

    fn password_cost(&self) -> Result<Cost, Error> {
        let Some(text) = self.text("password_cost") else { return Ok(Cost::USUAL) };
        match numbers(text) {
            Some([memory_kib @ 64..=4_194_304, passes @ 1..=100, lanes @ 1..=8])
                if memory_kib >= 8 * lanes =>
            {
                Ok(Cost { memory_kib, passes, lanes })
            }
            _ => Err(Error::of("password_cost", "write KiB of memory, passes and lanes such as 19456,2,1")),
        }
    }

    fn authenticator_metadata(&self) -> Result<TrustFiles, Error> {
        let path = |name| self.text(name).map(PathBuf::from);
        let metadata = path("attestation_metadata");
        let metadata_root = path("attestation_metadata_root");
        if metadata.is_none() && metadata_root.is_some() {
            return Err(Error::of(
                "attestation_metadata",
                "must be set too, because attestation_metadata_root is set",
            ));
        }
        let signer = self.text("attestation_metadata_signer").map(str::to_owned);
        Ok(TrustFiles { metadata, metadata_root, signer, roots: path("attestation_roots") })
    }

    fn tls(&self) -> Result<Option<TlsFiles>, Error> {
        match (self.text("tls_cert"), self.text("tls_key")) {
            (None, None) => Ok(None),
            (Some(cert), Some(key)) => Ok(Some(TlsFiles { cert: cert.into(), key: key.into() })),
            (Some(_), None) => Err(Error::of("tls_key", "must be set too, because tls_cert is set")),
            (None, Some(_)) => Err(Error::of("tls_cert", "must be set too, because tls_key is set")),
        }
    }

    fn otlp_endpoint(&self) -> Result<Option<String>, Error> {
        let Some(text) = self.text("otlp_endpoint") else { return Ok(None) };
        if !cfg!(feature = "otlp") {
            return Err(Error::of("otlp_endpoint", "this program was built without the feature otlp"));
        }
        match text.strip_prefix("http://") {
            Some(rest) if !rest.is_empty() && !rest.contains('@') => {
                Ok(Some(text.trim_end_matches('/').to_owned()))
            }
            _ => Err(Error::of(
                "otlp_endpoint",
                "write a URL such as http://127.0.0.1:4318, without a password. Only http is supported; run a collector on this machine to forward traces by TLS",
            )),
        }
    }

    fn webhooks(&self) -> Result<WebhookSettings, Error> {
        let rate = self.count("webhooks_rate", 1..=100_000)?;
        Ok(WebhookSettings {
            allow_cidrs: self.ranges("webhooks_allow_cidrs")?,
            allow_http: self.parsed("webhooks_allow_http")?.unwrap_or(false),
            extra_roots: self.certificates("webhooks_ca_file")?,
            in_flight: self.count("webhooks_in_flight", 1..=32)?.unwrap_or(4),
            rate: rate.and_then(|rate| NonZeroU32::new(u32::try_from(rate).ok()?)),
        })
    }

    /// Reads the certificates in a PEM file.
    fn certificates(&self, name: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
        let Some(path) = self.text(name) else { return Ok(Vec::new()) };
        let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        match read {
            Ok(found) if found.is_empty() => Err(Error::of(name, format!("{path}: there is no certificate"))),
            Ok(found) => Ok(found),
            Err(error) => Err(Error::of(name, format!("{path}: {error}"))),
        }
    }

    fn rates(&self, name: &str) -> Result<Option<[NonZeroU32; 3]>, Error> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let three: Option<[NonZeroU32; 3]> = numbers(text);
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

    /// Parses the elements of a list, which `what` describes.
    fn list<T, E>(
        &self,
        name: &str,
        what: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Vec<T>, Error> {
        let words = self.text(name).unwrap_or_default().split(',').map(str::trim);
        let problem = |word| Error::of(name, format!("{word} is not {what}"));
        let words = words.filter(|word| !word.is_empty());
        words.map(|word| parse(word).map_err(|_| problem(word))).collect()
    }

    fn origins(&self, name: &str) -> Result<Vec<String>, Error> {
        let what = "an origin without a final slash, such as https://app.example.com";
        self.list(name, what, base_url)
    }

    fn dns_servers(&self) -> Result<Vec<SocketAddr>, Error> {
        self.list("dns_servers", "an address such as 10.0.0.53 or [::1]:5353", |word| {
            word.parse().or_else(|_| word.parse().map(|address: IpAddr| SocketAddr::new(address, 53)))
        })
    }

    fn ranges<R: FromStr>(&self, name: &str) -> Result<Vec<R>, Error> {
        self.list(name, "an address or range such as 10.0.0.0/8", str::parse)
    }
}

/// Parses exactly `N` numbers that are separated by commas.
fn numbers<T: FromStr, const N: usize>(text: &str) -> Option<[T; N]> {
    let numbers: Result<Vec<T>, _> = text.split(',').map(|word| word.trim().parse()).collect();
    numbers.ok()?.try_into().ok()
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
        assert_eq!(settings.base_url(), "http://localhost:8080");
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
            device_bound_sessions = true
            log_format = "pretty"
            "#,
        )
        .unwrap();
        assert_eq!(settings.trusted_proxies.len(), 2);
        assert_eq!(settings.proxy_header, ProxyHeader::Forwarded);
        assert_eq!(settings.database_pool, 4);
        assert!(settings.device_bound_sessions);
    }

    #[test]
    fn problems_say_what_to_write() {
        insta::assert_snapshot!(problem("bnd = '127.0.0.1:1'"), @"bnd (GATEHOUSE_BND): unknown setting. Did you mean bind?");
        insta::assert_snapshot!(problem("colour = 'red'"), @"colour (GATEHOUSE_COLOUR): unknown setting. List settings with: gatehouse reference settings");
        insta::assert_snapshot!(problem("bind = '8080'"), @"bind (GATEHOUSE_BIND): write an address and a port such as 127.0.0.1:8080 or [::]:8080");
        insta::assert_snapshot!(problem("base_url = 'https://gate.example.com/'"), @"base_url (GATEHOUSE_BASE_URL): write an origin without a final slash, such as https://gate.example.com");
        insta::assert_snapshot!(problem("database_url = 'mysql://x'"), @"database_url (GATEHOUSE_DATABASE_URL): write sqlite:PATH or postgres://user:password@host/database");
        insta::assert_snapshot!(problem("trusted_proxies = '10.0.0.1/8'"), @"trusted_proxies (GATEHOUSE_TRUSTED_PROXIES): 10.0.0.1/8 is not an address or range such as 10.0.0.0/8");
        insta::assert_snapshot!(problem("database_pool = 0"), @"database_pool (GATEHOUSE_DATABASE_POOL): write a number from 1 to 1000");
        insta::assert_snapshot!(problem("auth_secret = 'short'"), @"auth_secret (GATEHOUSE_AUTH_SECRET): each secret needs at least 32 characters; generate one with: openssl rand -base64 48");
        insta::assert_snapshot!(problem("dns_servers = '10.0.0.53,dns.example.com'"), @"dns_servers (GATEHOUSE_DNS_SERVERS): dns.example.com is not an address such as 10.0.0.53 or [::1]:5353");
        insta::assert_snapshot!(problem("device_bound_sessions = true"), @"device_bound_sessions (GATEHOUSE_DEVICE_BOUND_SESSIONS): needs a base_url that begins with https");
        insta::assert_snapshot!(problem("log_level = 1.5"), @"log_level (GATEHOUSE_LOG_LEVEL): write a string, an integer, a boolean or an array of strings");
    }
}
