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
mod operator;
mod policies;
mod report;
mod saml;
mod serve;
mod tenants;
mod tokens;
mod users;
mod webhooks;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use ::audit::EntryKeys;
use clap::{Parser, Subcommand};
use kernel::{Env, SystemEnv};
use store::Store;

use self::{
    operator::{Operator, make_data_dir},
    report::{Report, Result},
};
use crate::config::{Raw, Settings};

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
        webhooks::run(command, &Operator::open(&mut raw, env).await?, cli.json).await?;
        return Ok(None);
    }
    let report = match cli.command {
        Command::Serve(_) | Command::Webhooks(_) => return Ok(None),
        Command::Openapi => inspect::document(&crate::api::document()),
        Command::Events => inspect::document(&crate::api::events()),
        Command::Config(command) => inspect::run(&command, &mut raw)?,
        Command::Migrate => migrate(&raw.settings()?).await?,
        Command::Tenant(command) => tenants::run(command, &Operator::open(&mut raw, env).await?).await?,
        Command::User(command) => {
            let office = Operator::open(&mut raw, env).await?;
            users::run(command, &office, &raw.settings()?).await?
        }
        Command::Policy(command) => policies::run(command, &Operator::open(&mut raw, env).await?).await?,
        // Boxed: what it holds while it waits is more than all others hold.
        Command::Saml(command) => Box::pin(saml::run(command, &mut raw, env)).await?,
        Command::Domain(command) => domains::run(command, &Operator::open(&mut raw, env).await?).await?,
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
