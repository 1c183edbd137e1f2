//! The command line.
//!
//! With `--json` a command prints one JSON object in one line on standard output. Errors go to standard
//! error with exit status 1, wrong usage with 2. What changes something is audited as SYSTEM.

mod audit;
mod backup;
mod doctor;
mod domains;
mod inspect;
mod keys;
mod policies;
mod saml;
mod serve;
mod tenants;
mod tokens;
mod users;
mod webhooks;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use ::audit::{Audited, EntryKeys};
use clap::{Parser, Subcommand};
use directory::Tenant;
use kernel::{Actor, Ctx, Env, StoreError, SystemEnv, TenantId};
use serde_json::Value;
use store::{Store, Tx};

use crate::{
    config::{Raw, Settings},
    secrets,
};

/// The gate of a multi-tenant workforce platform.
#[derive(Parser)]
#[command(name = "gatehouse", version, max_term_width = 100)]
struct Cli {
    /// A TOML file with settings; GATEHOUSE_… variables override it
    #[arg(long, global = true, value_name = "FILE", env = crate::config::FILE_VARIABLE)]
    config: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer requests, deliver webhooks and seal audit logs until SIGTERM
    Serve(serve::Arguments),
    /// Bring the database to the present schema
    Migrate,
    /// Tenants
    #[command(subcommand)]
    Tenant(tenants::Command),
    /// People
    #[command(subcommand)]
    User(users::Command),
    /// Tokens of identity providers and of people's programs
    #[command(subcommand)]
    Token(tokens::Command),
    /// What tenants ask for
    #[command(subcommand)]
    Policy(policies::Command),
    /// Identity providers through whom people sign in
    #[command(subcommand)]
    Saml(saml::Command),
    /// Domains of e-mail addresses, and whose they are
    #[command(subcommand)]
    Domain(domains::Command),
    /// The audit log: verified, kept for a time, without addresses
    #[command(subcommand)]
    Audit(audit::Command),
    /// Who is told of what happens
    #[command(subcommand)]
    Webhooks(webhooks::Command),
    /// Keys that sign and verify
    #[command(subcommand)]
    Keys(keys::Command),
    /// Write a copy of an SQLite database, also while a server runs on it
    Backup(backup::Command),
    /// Look for what is wrong with this installation
    Doctor,
    /// Print the OpenAPI description
    Openapi,
    /// Print the catalog of events
    Events,
    /// Settings
    #[command(subcommand)]
    Config(inspect::Command),
}

/// What a command answers: an object for `--json`, and lines for people.
struct Report {
    json: Value,
    lines: String,
    /// Whether what it says is that something is wrong.
    failed: bool,
}

impl Report {
    fn new(json: Value, lines: impl Into<String>) -> Self {
        Self { json, lines: lines.into(), failed: false }
    }
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Runs the program.
pub async fn main() -> ExitCode {
    let cli = Cli::parse();
    let json = cli.json;
    match run(cli).await {
        Ok(Some(report)) => {
            println!("{}", if json { report.json.to_string() } else { report.lines });
            if report.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gatehouse: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> Result<Option<Report>> {
    let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
    let mut raw = Raw::gather(cli.config.as_deref())?;
    if let Command::Serve(arguments) = &cli.command {
        serve::run(raw, arguments, cli.config.as_deref(), env).await?;
        return Ok(None);
    }
    crate::logs::command();
    if let Command::Webhooks(command) = cli.command {
        webhooks::run(command, &Office::open(&mut raw, env).await?, cli.json).await?;
        return Ok(None);
    }
    let report = match cli.command {
        Command::Serve(_) | Command::Webhooks(_) => return Ok(None),
        Command::Openapi => inspect::document(&crate::http::document()),
        Command::Events => inspect::document(&crate::http::events()),
        Command::Config(command) => inspect::run(&command, &mut raw)?,
        Command::Migrate => migrate(&raw.settings()?).await?,
        Command::Tenant(command) => tenants::run(command, &Office::open(&mut raw, env).await?).await?,
        Command::User(command) => {
            let office = Office::open(&mut raw, env).await?;
            users::run(command, &office, &raw.settings()?).await?
        }
        Command::Policy(command) => policies::run(command, &Office::open(&mut raw, env).await?).await?,
        // Boxed: what it holds while it waits is more than all others hold.
        Command::Saml(command) => Box::pin(saml::run(command, &mut raw, env)).await?,
        Command::Domain(command) => domains::run(command, &Office::open(&mut raw, env).await?).await?,
        Command::Audit(command) => audit::run(command, &mut raw, env).await?,
        Command::Keys(command) => keys::run(&command, cli.config.as_deref(), &*env)?,
        Command::Backup(command) => backup::run(&command, &raw.settings()?)?,
        Command::Doctor => doctor::run(raw, &*env).await,
        Command::Token(command) => tokens::run(command, &mut raw, env).await?,
    };
    Ok(Some(report))
}

async fn migrate(settings: &Settings) -> Result<Report> {
    make_data_dir(settings)?;
    let applied = Store::open(&settings.database_url, 1, EntryKeys::none())?.migrate().await?;
    let lines = if applied.is_empty() { "the schema is up to date".into() } else { applied.join("\n") };
    Ok(Report::new(serde_json::json!({ "applied": applied }), lines))
}

/// SQLite makes the file, not the folder.
fn make_data_dir(settings: &Settings) -> std::io::Result<()> {
    match &settings.database_url {
        store::DatabaseUrl::Sqlite(path) => match path.parent() {
            Some(folder) => secrets::make_folder(folder),
            None => Ok(()),
        },
        store::DatabaseUrl::Postgres(_) => Ok(()),
    }
}

/// The operator at work: the database, and units of work as SYSTEM.
struct Office {
    store: Store,
    env: Arc<dyn Env>,
}

impl Office {
    /// Opens the database, which must be at the present schema, with the keys of this installation: entries of the audit log
    /// need a MAC. On SQLite they are made where there are none yet, as by the first start of the server.
    async fn open(raw: &mut Raw, env: Arc<dyn Env>) -> Result<Self> {
        let settings = raw.settings()?;
        match &settings.database_url {
            store::DatabaseUrl::Sqlite(_) if !raw.has("master_key") => {
                secrets::keep_in(&settings.data_dir, raw, &*env)?;
            }
            _ => secrets::read_kept(&settings.data_dir, raw)?,
        }
        Self::open_with(&raw.settings()?, env).await
    }

    /// The same with the keys of these settings. Without a master key it can read, and write nothing.
    async fn open_with(settings: &Settings, env: Arc<dyn Env>) -> Result<Self> {
        make_data_dir(settings)?;
        let masters = settings.master_keys();
        let store = Store::open(&settings.database_url, 1, EntryKeys::derive(&masters))?;
        if store.is_behind().await? {
            return Err("the database is behind this program: run gatehouse migrate first".into());
        }
        Ok(Self { store, env })
    }

    async fn tenant(&self, slug: &str) -> Result<Tenant> {
        let found = self.store.across(async |across| across.tenant_of_slug(slug).await).await?;
        found.ok_or_else(|| format!("--tenant: there is no tenant {slug}").into())
    }

    async fn write<T, E>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> std::result::Result<Audited<T>, E> + Send + 'static,
    ) -> std::result::Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.store.write(Ctx::new(Arc::clone(&self.env), tenant.clone(), Actor::system("cli")), work).await
    }
}
