//! `gatehouse doctor`: checks an installation and says how to fix each problem.

mod audit_logs;
mod findings;

use std::{
    net::TcpListener,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    time::Instant,
};

use audit::EntryKeys;
use kernel::Env;
use rustix::process::{Resource, getrlimit};
use store::{Across, DatabaseUrl, Examination, Store};
use tokio::time::timeout;
use url::Url;

use self::findings::{Findings, PATIENCE};
use super::report::{Report, counted};
use crate::{
    breached::BreachedPasswords,
    config::{Raw, Settings},
    secrets,
};
use gate::tls;

pub(crate) async fn run(mut raw: Raw, env: &dyn Env) -> Report {
    let mut findings = Findings::default();
    let settings = raw.settings().and_then(|settings| {
        secrets::read_kept(&settings.data_dir, &mut raw)?;
        raw.settings()
    });
    match settings {
        Err(error) => findings.fail("settings", error.to_string()),
        Ok(settings) => {
            findings.ok("settings", "all settings are valid");
            keys(&mut findings, &raw, &settings).await;
            if let DatabaseUrl::Sqlite(path) = &settings.database_url {
                folder(&mut findings, path.parent().unwrap_or(Path::new(".")));
            }
            database(&mut findings, &settings, env).await;
            audit_logs::examine(&mut findings, &settings, env).await;
            identity_providers(&mut findings, &settings, env).await;
            address(&mut findings, &settings);
            certificate(&mut findings, &settings, env);
            authenticators(&mut findings, &settings, env);
            passwords(&mut findings, &settings);
            files(&mut findings);
        }
    }
    findings.report()
}

async fn keys(findings: &mut Findings, raw: &Raw, settings: &Settings) {
    if secrets::are_lost(settings, raw).await.unwrap_or_default() {
        return findings.fail("keys", secrets::LOST);
    }
    let shared = matches!(settings.database_url, DatabaseUrl::Postgres(_));
    for name in ["auth_secret", "master_key"] {
        match (raw.has(name), shared) {
            (true, _) => findings.ok("keys", format!("{name} is set")),
            (false, false) => findings.ok("keys", format!("{name} will be generated at the first start")),
            (false, true) => {
                findings.fail("keys", format!("{name} is not set, so the server will not start"));
            }
        }
    }
    let client_key = settings.database_url.key_file();
    for path in raw.secret_files().into_iter().chain(client_key.as_deref()) {
        if let Some(mode) = mode(path).filter(|mode| mode & 0o007 != 0) {
            findings.warn(
                "keys",
                format!(
                    "{} is accessible to all users of this machine ({mode:03o}). Run chmod 600",
                    path.display()
                ),
            );
        }
    }
}

fn mode(path: &Path) -> Option<u32> {
    Some(std::fs::metadata(path).ok()?.permissions().mode() & 0o777)
}

/// Free space in bytes below which the doctor warns.
const LITTLE: u64 = 1 << 30;

fn folder(findings: &mut Findings, folder: &Path) {
    let shown = folder.display();
    let Ok(about) = std::fs::metadata(folder) else {
        return findings.ok("data directory", format!("{shown} will be created at the first start"));
    };
    let mut problems = Vec::new();
    if about.mode() & 0o007 != 0 {
        problems.push(format!("{shown} is accessible to all users of this machine. Run chmod 700"));
    }
    let free = rustix::fs::statvfs(folder).map(|space| space.f_bavail.saturating_mul(space.f_frsize));
    match free {
        Ok(free) if free < LITTLE => {
            problems.push(format!(
                "{shown} has {} MB of free space. On a full disk the server refuses changes",
                free >> 20
            ));
        }
        Ok(_) => {}
        Err(error) => problems.push(format!("{shown}: {error}")),
    }
    findings.unless("data directory", problems, format!("{shown} is private and has free space"));
}

async fn database(findings: &mut Findings, settings: &Settings, env: &dyn Env) {
    const CHECK: &str = "database";
    if let DatabaseUrl::Sqlite(path) = &settings.database_url
        && !path.exists()
    {
        return findings.ok(CHECK, format!("{} will be created at the first start", path.display()));
    }
    let started = Instant::now();
    let examined = match timeout(PATIENCE, Examination::of(&settings.database_url)).await {
        Ok(Ok(examined)) => examined,
        Ok(Err(error)) => return findings.fail(CHECK, error.to_string()),
        Err(_) => return findings.fail(CHECK, format!("no response within {PATIENCE:?}")),
    };
    let took = started.elapsed();
    for damage in &examined.damage {
        findings.fail(CHECK, format!("damaged: {damage}. Restore a backup"));
    }
    for problem in &examined.guards {
        findings.fail("audit log", format!("{problem}. Run gatehouse audit verify to find changes"));
    }
    if examined.behind {
        findings.fail(CHECK, "the schema is older than this program. Run gatehouse migrate");
    }
    if let Some(refuses) = &examined.refuses {
        findings.fail(CHECK, format!("does not accept changes: {refuses}"));
    }
    let well = format!("{} responds in {} ms", examined.version, took.as_millis());
    findings.unless(CHECK, examined.warnings(env.now(), settings.connections()), well);
}

/// Reports nothing if the database cannot be read, which another check reports.
async fn identity_providers(findings: &mut Findings, settings: &Settings, env: &dyn Env) {
    const CHECK: &str = "identity providers";
    if !settings.database_url.may_exist() {
        return;
    }
    let Ok(store) = Store::open(&settings.database_url, 1, EntryKeys::none()) else { return };
    let now = env.now();
    let count = store.across(async move |across: &mut Across| across.saml_expiry(now).await);
    let Ok(Ok(expiry)) = timeout(PATIENCE, count).await else { return };
    if expiry.providers == 0 {
        return;
    }
    let mut problems = Vec::new();
    if expiry.expired > 0 {
        problems.push(format!(
            "SSO connections with only expired signing certificates: {}. Nobody can sign in through them. List them with gatehouse saml list",
            expiry.expired
        ));
    }
    if expiry.within_30_days > 0 {
        problems.push(format!(
            "SSO connections whose last signing certificate expires within 30 days: {}",
            expiry.within_30_days
        ));
    }
    let well = format!("SSO connections with certificates valid for more than 30 days: {}", expiry.providers);
    findings.unless(CHECK, problems, well);
}

fn address(findings: &mut Findings, settings: &Settings) {
    match TcpListener::bind(settings.bind) {
        Ok(_) => findings.ok("address", format!("{} is free", settings.bind)),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            findings.ok("address", format!("{} is in use, by the server if it is running", settings.bind));
        }
        Err(error) => findings.fail("address", format!("{}: {error}", settings.bind)),
    }
    let public = !settings.bind.ip().is_loopback();
    let https = settings.base_url.as_deref().map_or(settings.tls.is_some(), |url| url.starts_with("https:"));
    let mut problems = Vec::new();
    if public && settings.base_url.is_none() {
        problems.push("base_url is not set, so links use the address of bind".into());
    }
    if public && !https {
        problems.push(
            "clients connect without TLS. Set tls_cert and tls_key, or use a proxy and set base_url to https"
                .into(),
        );
    }
    if https && settings.tls.is_none() && settings.trusted_proxies.is_empty() {
        problems.push(
            "a proxy terminates TLS but trusted_proxies is not set, so all clients appear with the proxy's address".into(),
        );
    }
    if settings.metrics_bind.is_some_and(|address| !address.ip().is_loopback()) {
        problems.push("metrics_bind serves metrics without TLS. Let only the monitoring reach it".into());
    }
    let smtp_url = settings.smtp_url.as_ref().and_then(|url| Url::parse(url.expose()).ok());
    if smtp_url.is_some_and(|url| {
        let is_local = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        url.scheme() == "smtp" && !is_local && !url.query().unwrap_or_default().contains("tls=required")
    }) {
        problems.push("smtp_url sends mail without TLS. Write smtps:// or ?tls=required".into());
    }
    findings.unless("exposure", problems, "TLS and base_url match the address");
}

/// Days before the expiry of a certificate at which the doctor warns.
const SOON: i64 = 21;

fn certificate(findings: &mut Findings, settings: &Settings, env: &dyn Env) {
    let Some(files) = &settings.tls else { return };
    match tls::load(files) {
        Err(problem) => findings.fail("certificate", problem),
        Ok(loaded) => match (loaded.ends - env.now().unix_millis() / 1000).div_euclid(86_400) {
            days if days < 0 => findings.fail("certificate", "expired"),
            days if days < SOON => {
                findings.warn("certificate", format!("expires in {}", counted(days, "day", "days")));
            }
            days => findings.ok(
                "certificate",
                format!("matches its key and expires in {}", counted(days, "day", "days")),
            ),
        },
    }
}

fn authenticators(findings: &mut Findings, settings: &Settings, env: &dyn Env) {
    if settings.makers.is_empty() {
        return;
    }
    match settings.makers.load(env.now()) {
        Err(problem) => findings.fail("authenticators", problem.to_string()),
        Ok(loaded) => match loaded.metadata.filter(|metadata| metadata.is_overdue(env.now())) {
            Some(metadata) => findings.warn(
                "authenticators",
                format!("newer metadata is available since {}. Download it", metadata.next_update),
            ),
            None => findings.ok(
                "authenticators",
                format!(
                    "{} models have certificates of their own; {} certificates apply to any model",
                    loaded.roots.provable_models(),
                    loaded.roots.of_any()
                ),
            ),
        },
    }
}

fn passwords(findings: &mut Findings, settings: &Settings) {
    let Some(path) = &settings.breached_passwords else { return };
    match BreachedPasswords::open(path) {
        Ok(_) => findings.ok("passwords", format!("leaked passwords in {} are refused", path.display())),
        Err(error) => findings.fail("passwords", error.to_string()),
    }
}

/// Open files that a busy server needs; each connection is one.
const FILES: u64 = 4096;

fn files(findings: &mut Findings) {
    let limit = getrlimit(Resource::Nofile).current;
    match limit {
        Some(limit) if limit < FILES => {
            findings.warn(
                "open files",
                format!("the limit of {limit} open files also limits connections. Run ulimit -n 65536"),
            );
        }
        _ => findings.ok("open files", "the limit is high enough"),
    }
}
