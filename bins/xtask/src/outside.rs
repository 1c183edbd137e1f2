//! Runs third-party tools against the server on both databases.

use std::{path::Path, process::Command};

use clap::ValueEnum;
use xtask::{
    cluster::{Cluster, Durability},
    python,
    server::{AUTH_SECRET, Server, USUAL, gatehouse, member, person, serve},
    sh::{self, Result},
};

use crate::{clients, log_streams, monitoring, node, oidc, saml, step_up, timed::timed, webhooks, witnesses};

/// The number of checks that scim2-tester runs for the supported features.
const CHECKS: &str = "124";

/// Rounds of kills of the server or the receivers of log streams.
const ROUNDS: u32 = 4;
/// Rounds that kill each side 20 times.
const MANY_ROUNDS: u32 = 40;

pub(crate) fn run(postgres: &str) -> Result<()> {
    within(|folder| {
        let sqlite = format!("sqlite:{}", folder.join("outside.db").display());
        timed("SCIM and Auth.js on SQLite", || on(&sqlite, folder)).0?;
        timed("SCIM and Auth.js on PostgreSQL", || on(postgres, folder)).0?;
        timed("generated clients", || clients::run(folder)).0?;
        timed("requests of an administrator", || clients::administrator(folder)).0?;
        timed("webhooks", || webhooks::run(folder)).0?;
        timed("audit log", || witnesses::run(folder)).0?;
        timed("log streams", || log_streams::run(folder, ROUNDS)).0?;
        timed("monitoring", || monitoring::run(folder)).0?;
        timed("step-up", || step_up::run(folder, postgres)).0?;
        timed("SAML", || saml::run(folder)).0?;
        timed("OpenID Connect", || oidc::run(folder)).0
    })
}

/// Some of the tools.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Tools {
    /// Clients that were generated from the description
    Clients,
    /// Requests that schemathesis makes up from the description
    Administrator,
    /// Webhook receivers
    Webhooks,
    /// Witnesses of the audit log, and a library for transparency logs
    Audit,
    /// Receivers of log streams, of which and of the server some are killed
    Streams,
    /// As many kills as a fault test needs
    StreamsKilled,
    /// Prometheus with the alert rules, and the questions of the dashboard
    Monitoring,
    /// Resource servers that ask for step-ups
    StepUp,
    /// Logins through SAML identity providers
    Saml,
    /// Logins through OpenID providers
    Oidc,
}

/// Runs the chosen tools, or all of them with a temporary PostgreSQL.
pub(crate) fn chosen(tools: Option<Tools>) -> Result<()> {
    match tools {
        Some(Tools::Clients) => within(clients::run),
        Some(Tools::Administrator) => within(clients::administrator),
        Some(Tools::Audit) => within(witnesses::run),
        Some(Tools::Streams) => within(|folder| log_streams::run(folder, ROUNDS)),
        Some(Tools::StreamsKilled) => within(|folder| log_streams::run(folder, MANY_ROUNDS)),
        Some(Tools::Monitoring) => within(monitoring::run),
        Some(Tools::Webhooks) => within(webhooks::run),
        Some(Tools::StepUp) => {
            let cluster = Cluster::start(Durability::None)?;
            within(|folder| step_up::run(folder, &cluster.url()))
        }
        Some(Tools::Saml) => within(saml::run),
        Some(Tools::Oidc) => within(oidc::run),
        None => run(&Cluster::start(Durability::None)?.url()),
    }
}

/// Runs a function with a temporary directory.
fn within(run: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("gatehouse-outside-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let done = run(&folder);
    let _removed = std::fs::remove_dir_all(&folder);
    done
}

fn on(database: &str, folder: &Path) -> Result<()> {
    let program = sh::built("gatehouse");
    gatehouse(&program, database, &["migrate"])?;
    // Each tool gets its own tenant, so that tools do not see each other's data.
    let tokens = |tenant: &str| -> Result<[(String, String); 2]> {
        gatehouse(&program, database, &["tenant", "create", "--slug", tenant, "--name", tenant])?;
        let mint = || -> Result<(String, String)> {
            let minted =
                gatehouse(&program, database, &["token", "scim", "--tenant", tenant, "--name", "tool"])?;
            Ok((member(&minted, "id")?, member(&minted, "token")?))
        };
        Ok([mint()?, mint()?])
    };
    let [(_, for_scim2_tester), _] = tokens("scim2-tester")?;
    let [(_, for_schemathesis), (id, revoked)] = tokens("schemathesis")?;
    gatehouse(&program, database, &["token", "revoke", "--id", &id])?;
    gatehouse(&program, database, &["tenant", "create", "--slug", "authjs", "--name", "Auth.js"])?;
    let (email, password) = ("ada@example.com", "a password for a neighbour");
    person(&program, database, USUAL, "authjs", email, password)?;
    let server = Server::start(&mut serve(&program, database, folder))?;

    let mut authjs = Command::new("node");
    authjs.current_dir(node::environment(&sh::peers().join("authjs"))?).arg("check.mjs");
    authjs.args([&format!("http://{}", server.address), email, password]);
    sh::run(authjs.env("AUTH_SECRET", AUTH_SECRET))?;

    let mut tester = Command::new(python::environment("scim2-tester")?);
    tester.arg(sh::peers().join("run_scim2_tester.py"));
    tester.arg(format!("http://{}/api/scim/v2", server.address)).arg(CHECKS);
    sh::run(tester.env("SCIM_TOKEN", for_scim2_tester))?;

    let mut schemathesis = Command::new(python::environment("schemathesis")?);
    schemathesis.arg(sh::peers().join("run_schemathesis.py"));
    schemathesis.arg(format!("http://{}", server.address));
    sh::run(schemathesis.env("SCIM_TOKEN", for_schemathesis).env("SCIM_REVOKED_TOKEN", revoked))
}
