//! `gatehouse doctor`: looks at everything that an installation needs, and says what to do about what is wrong.

mod audit_logs;
mod findings;

use std::{
    collections::BTreeSet,
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

use self::findings::{Findings, PATIENCE};
use super::report::Report;
use crate::{
    config::{Raw, SECRETS, Settings, Source},
    secrets, trust_anchors,
};
use gate::tls;

/// How far the database's clock may be from ours, in milliseconds.
const SKEW: u64 = 2000;

pub(crate) async fn run(mut raw: Raw, env: &dyn Env) -> Report {
    let mut findings = Findings::default();
    let settings = raw.settings().and_then(|settings| {
        secrets::read_kept(&settings.data_dir, &mut raw)?;
        raw.settings()
    });
    match settings {
        Err(error) => findings.fail("settings", error.to_string()),
        Ok(settings) => {
            findings.ok("settings", "all can be used");
            keys(&mut findings, &raw, &settings);
            if let DatabaseUrl::Sqlite(path) = &settings.database_url {
                folder(&mut findings, path.parent().unwrap_or(Path::new(".")));
            }
            database(&mut findings, &settings, env).await;
            audit_logs::examine(&mut findings, &settings, env).await;
            identity_providers(&mut findings, &settings, env).await;
            address(&mut findings, &settings);
            certificate(&mut findings, &settings, env);
            authenticators(&mut findings, &settings, env);
            files(&mut findings);
        }
    }
    findings.report()
}

fn keys(findings: &mut Findings, raw: &Raw, settings: &Settings) {
    let shared = matches!(settings.database_url, DatabaseUrl::Postgres(_));
    for name in ["auth_secret", "master_key"] {
        match (raw.has(name), shared) {
            (true, _) => findings.ok("keys", format!("{name} is set and strong")),
            (false, false) => findings.ok("keys", format!("{name} will be made at the first start")),
            (false, true) => findings.fail("keys", format!("{name} is not set: the server will not start")),
        }
    }
    let files: BTreeSet<_> = SECRETS
        .iter()
        .filter_map(|name| match raw.source(name)? {
            Source::Said => None,
            Source::File(path) | Source::Kept(path) => Some(path),
        })
        .collect();
    for path in files {
        if let Some(mode) = mode(path).filter(|mode| mode & 0o007 != 0) {
            findings.warn(
                "keys",
                format!("{} is open to everybody on this machine ({mode:03o}): chmod 600", path.display()),
            );
        }
    }
}

fn mode(path: &Path) -> Option<u32> {
    Some(std::fs::metadata(path).ok()?.permissions().mode() & 0o777)
}

/// Free space under which an operator wants to know.
const LITTLE: u64 = 1 << 30;

fn folder(findings: &mut Findings, folder: &Path) {
    let shown = folder.display();
    let Ok(about) = std::fs::metadata(folder) else {
        return findings.ok("data folder", format!("{shown} will be made at the first start"));
    };
    let mut problems = Vec::new();
    if about.mode() & 0o007 != 0 {
        problems.push(format!("{shown} is open to everybody on this machine: chmod 700"));
    }
    let free = rustix::fs::statvfs(folder).map(|space| space.f_bavail.saturating_mul(space.f_frsize));
    match free {
        Ok(free) if free < LITTLE => {
            problems.push(format!("{shown} has {} MB left; on a full disk changes are refused", free >> 20));
        }
        Ok(_) => {}
        Err(error) => problems.push(format!("{shown}: {error}")),
    }
    findings.unless("data folder", problems, format!("{shown} is private and has room"));
}

async fn database(findings: &mut Findings, settings: &Settings, env: &dyn Env) {
    const CHECK: &str = "database";
    if let DatabaseUrl::Sqlite(path) = &settings.database_url
        && !path.exists()
    {
        return findings.ok(CHECK, format!("{} will be made at the first start", path.display()));
    }
    let started = Instant::now();
    let examined = match timeout(PATIENCE, Examination::of(&settings.database_url)).await {
        Ok(Ok(examined)) => examined,
        Ok(Err(error)) => return findings.fail(CHECK, error.to_string()),
        Err(_) => return findings.fail(CHECK, format!("no answer within {PATIENCE:?}")),
    };
    let took = started.elapsed();
    for damage in &examined.damage {
        findings.fail(CHECK, format!("damaged, restore a backup: {damage}"));
    }
    for problem in &examined.guards {
        findings.fail("audit log", format!("{problem}: gatehouse audit verify says what was changed"));
    }
    if examined.behind {
        findings.fail(CHECK, "the schema is behind this program: run gatehouse migrate");
    }
    if let Some(refuses) = &examined.refuses {
        findings.fail(CHECK, format!("takes no changes: {refuses}"));
    }
    let well = format!("{} answers in {} ms", examined.version, took.as_millis());
    findings.unless(CHECK, doctor_warnings(&examined, settings, env), well);
}

/// What works and may do harm.
fn doctor_warnings(examined: &Examination, settings: &Settings, env: &dyn Env) -> Vec<String> {
    let mut problems = Vec::new();
    if !examined.safe {
        let how = if examined.encrypted == Some(true) {
            "encrypted, but with whatever certificate"
        } else {
            "not encrypted"
        };
        problems.push(format!(
            "the connection to the database is {how}: add ?sslmode=verify-full to its address"
        ));
    }
    if !examined.durable {
        problems.push(
            "fsync, full_page_writes or synchronous_commit is off: what was answered may be lost in a crash"
                .into(),
        );
    }
    if let Some(theirs) = examined.now {
        let skew = theirs.unix_millis().abs_diff(env.now().unix_millis());
        if skew > SKEW {
            problems.push(format!("the database's clock is {} s from ours: run NTP on both", skew / 1000));
        }
    }
    let workers =
        settings.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let wanted = i64::try_from(workers.saturating_mul(settings.database_pool)).unwrap_or(i64::MAX);
    if let Some(max) = examined.max_connections.filter(|max| wanted > max - 5) {
        problems.push(format!("this server may open {wanted} connections and the database takes {max} from everybody: lower database_pool"));
    }
    problems
}

/// Nothing is said where the database cannot be asked: that was said already.
async fn identity_providers(findings: &mut Findings, settings: &Settings, env: &dyn Env) {
    const CHECK: &str = "identity providers";
    let there = match &settings.database_url {
        DatabaseUrl::Sqlite(path) => path.exists(),
        DatabaseUrl::Postgres(_) => true,
    };
    let Some(store) = Store::open(&settings.database_url, 1, EntryKeys::none()).ok().filter(|_| there) else {
        return;
    };
    let now = env.now();
    let count = store.across(async move |across: &mut Across| across.saml_expiry(now).await);
    let Ok(Ok(expiry)) = timeout(PATIENCE, count).await else { return };
    if expiry.providers == 0 {
        return;
    }
    let mut problems = Vec::new();
    if expiry.expired > 0 {
        problems.push(format!(
            "the signing certificates of {} have ended: nobody signs in through them; gatehouse saml list says when",
            expiry.expired
        ));
    }
    if expiry.within_30_days > 0 {
        problems
            .push(format!("the last signing certificate of {} ends within 30 days", expiry.within_30_days));
    }
    let well = format!("{} with certificates that are good for longer", expiry.providers);
    findings.unless(CHECK, problems, well);
}

fn address(findings: &mut Findings, settings: &Settings) {
    match TcpListener::bind(settings.bind) {
        Ok(_) => findings.ok("address", format!("{} is free", settings.bind)),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            findings.ok("address", format!("something listens on {}: the server, if it runs", settings.bind));
        }
        Err(error) => findings.fail("address", format!("{}: {error}", settings.bind)),
    }
    let public = !settings.bind.ip().is_loopback();
    let https = settings.base_url.as_deref().map_or(settings.tls.is_some(), |url| url.starts_with("https:"));
    let mut problems = Vec::new();
    if public && settings.base_url.is_none() {
        problems.push("base_url is not set: clients are told the address that is listened on".into());
    }
    if public && !https {
        problems.push("clients come without TLS: set tls_cert and tls_key, or put a proxy in front and base_url to https".into());
    }
    if https && settings.tls.is_none() && settings.trusted_proxies.is_empty() {
        problems.push(
            "https is a proxy's and trusted_proxies is not set: everybody has the proxy's address".into(),
        );
    }
    if public && settings.metrics_bind.is_none() {
        problems.push("/metrics is open to whoever reaches the server: set metrics_bind".into());
    }
    findings.unless("exposure", problems, "fits the address");
}

/// Days before its end at which a certificate should have been replaced.
const SOON: i64 = 21;

fn certificate(findings: &mut Findings, settings: &Settings, env: &dyn Env) {
    let Some(files) = &settings.tls else { return };
    match tls::load(files) {
        Err(problem) => findings.fail("certificate", problem),
        Ok(loaded) => match (loaded.ends - env.now().unix_millis() / 1000).div_euclid(86_400) {
            days if days < 0 => findings.fail("certificate", "it has ended"),
            days if days < SOON => findings.warn("certificate", format!("it ends in {days} days")),
            days => findings.ok("certificate", format!("it fits its key and ends in {days} days")),
        },
    }
}

fn authenticators(findings: &mut Findings, settings: &Settings, env: &dyn Env) {
    if settings.makers.is_empty() {
        return;
    }
    match trust_anchors::load(&settings.makers, env.now()) {
        Err(problem) => findings.fail("authenticators", problem),
        Ok(loaded) => match loaded.metadata.filter(|metadata| metadata.is_overdue(env.now())) {
            Some(metadata) => findings.warn(
                "authenticators",
                format!("there is newer metadata since {}: fetch it", metadata.next_update),
            ),
            None => findings.ok(
                "authenticators",
                format!(
                    "{} makes can be proved by certificates of their own; {} certificates prove any",
                    loaded.roots.provable_models(),
                    loaded.roots.of_any()
                ),
            ),
        },
    }
}

/// Open files that a busy server needs: a connection is one.
const FILES: u64 = 4096;

fn files(findings: &mut Findings) {
    let limit = getrlimit(Resource::Nofile).current;
    match limit {
        Some(limit) if limit < FILES => {
            findings.warn(
                "open files",
                format!("{limit} at most, which is as many connections: ulimit -n 65536"),
            );
        }
        _ => findings.ok("open files", "enough"),
    }
}
