//! `gatehouse config`, and commands that print documents.

use clap::Subcommand;
use serde_json::{Value, json};
use store::DatabaseUrl;

use super::report::{Report, Result, details};
use crate::config::{LogFormat, Raw};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check all settings and print them without secrets
    #[command(after_help = "Example:\n  gatehouse config check")]
    Check,
}

pub(crate) fn run(Command::Check: &Command, raw: &mut Raw) -> Result<Report> {
    let settings = raw.settings()?;
    let shared = matches!(settings.database_url, DatabaseUrl::Postgres(_));
    let secret = |set: bool| match (set, shared) {
        (true, _) => "set",
        (false, false) => "generated at the first start",
        (false, true) => "missing: the server will not start",
    };
    let database = match &settings.database_url {
        DatabaseUrl::Sqlite(path) => format!("sqlite:{}", path.display()),
        // The URL contains a password.
        DatabaseUrl::Postgres(_) => "postgres://…".into(),
    };
    let json = json!({
        "ok": true,
        "databaseUrl": database,
        "bind": settings.bind.to_string(),
        "baseUrl": settings.base_url(),
        "dataDir": settings.data_dir,
        "authSecret": secret(settings.auth_secret.is_some()),
        "masterKey": secret(settings.master_key.is_some()),
        "trustedProxies": settings.trusted_proxies.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "proxyHeader": settings.proxy_header.as_str(),
        "metricsBind": settings.metrics_bind.map(|address| address.to_string()),
        "scimRates": settings.scim_rates,
        "tls": settings.tls.is_some(),
        "drainSeconds": settings.drain.as_secs(),
        "auditExportSeconds": settings.export_limit.as_secs(),
        "maxInFlight": settings.max_in_flight,
        "otlpEndpoint": settings.otlp_endpoint,
        "databasePool": settings.database_pool,
        "workers": settings.workers,
        "logFormat": if settings.log_format == LogFormat::Json { "json" } else { "pretty" },
        "logLevel": settings.log_level.to_string().to_ascii_lowercase(),
    });
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let set =
        json.as_object().into_iter().flatten().filter(|(name, value)| *name != "ok" && !value.is_null());
    let lines: Vec<_> = set.map(|(name, value)| (setting_name(name), shown(value))).collect();
    Ok(Report::new(json.clone(), details(&lines)))
}

/// Returns the name in the configuration file of a member of the JSON.
fn setting_name(member: &str) -> String {
    let character = |one: char| match one {
        upper if upper.is_ascii_uppercase() => format!("_{}", upper.to_ascii_lowercase()),
        other => other.to_string(),
    };
    member.chars().map(character).collect()
}

/// Reports a JSON document; indented unless `--json` is set.
pub(crate) fn document(document: &Value) -> Report {
    Report::new(document.clone(), serde_json::to_string_pretty(document).unwrap_or_default())
}
