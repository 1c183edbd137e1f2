//! The command line.
//!
//! With `--json` a command prints one JSON object on one line of standard output. Errors go to standard error with exit
//! code 1; wrong usage exits with 2. Changes are recorded in the audit log with actor SYSTEM.

mod audit;
mod backup;
mod copy;
mod doctor;
mod domains;
mod inspect;
mod keys;
mod manual;
mod migrate;
mod oidc;
mod operator;
mod policies;
mod reference;
mod report;
mod saml;
mod serve;
mod setup;
mod tenants;
mod tokens;
mod transfer;
mod users;
mod webhooks;

use std::{io::Write, path::PathBuf, process::ExitCode, sync::Arc};

use clap::{CommandFactory, Parser, Subcommand};
use kernel::{Env, SystemEnv};

use self::{
    operator::Operator,
    report::{Report, Result},
};
use crate::config::Raw;

/// Identity and access service for multi-tenant platforms.
///
/// Exit codes: 0 success, 1 the command failed or found a problem, 2 wrong usage.
#[derive(Parser)]
#[command(name = "gatehouse", version, max_term_width = 100)]
struct Cli {
    /// TOML file with settings; GATEHOUSE_… environment variables override it
    #[arg(long, global = true, value_name = "FILE", env = crate::config::FILE_VARIABLE)]
    config: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server: answer requests, deliver webhooks and seal audit logs until SIGTERM
    #[command(after_help = "Example:\n  gatehouse serve --config /etc/gatehouse.toml")]
    Serve(serve::Arguments),
    /// Migrate the database to the current schema
    #[command(after_help = "Examples:\n  gatehouse migrate\n  gatehouse migrate --distribute --dry-run")]
    Migrate(migrate::Arguments),
    /// Print a link that creates the first tenant and its administrator in a browser
    #[command(after_help = "Example:\n  gatehouse setup")]
    Setup,
    /// Manage tenants
    #[command(subcommand)]
    Tenant(tenants::Command),
    /// Manage users
    #[command(subcommand)]
    User(users::Command),
    /// Manage SCIM tokens and personal access tokens
    #[command(subcommand)]
    Token(tokens::Command),
    /// Manage sign-in and network policies
    #[command(subcommand)]
    Policy(policies::Command),
    /// Manage SSO connections with SAML
    #[command(subcommand)]
    Saml(saml::Command),
    /// Manage SSO connections with OpenID Connect
    #[command(subcommand)]
    Oidc(oidc::Command),
    /// Manage verified email domains
    #[command(subcommand)]
    Domain(domains::Command),
    /// Verify and purge audit logs, set retention, erase addresses
    #[command(subcommand)]
    Audit(audit::Command),
    /// Forward events to a local program during development
    #[command(subcommand)]
    Webhooks(webhooks::Command),
    /// List and rotate the server's keys
    #[command(subcommand)]
    Keys(keys::Command),
    /// Back up an SQLite database, also while the server runs
    #[command(after_help = "Example:\n  gatehouse backup --to /backups/gatehouse.db")]
    Backup(backup::Command),
    /// Copy everything to an empty database, and compare both row for row. Meanwhile servers answer reads only
    #[command(after_help = "Example:\n  gatehouse copy --to postgres://gatehouse@db.example.com/gatehouse")]
    Copy(copy::Command),
    /// Check this installation for problems
    #[command(after_help = "Example:\n  gatehouse doctor")]
    Doctor,
    /// Print the OpenAPI description of the API
    #[command(after_help = "Example:\n  gatehouse openapi > openapi.json")]
    Openapi,
    /// Print the catalog of audit events
    #[command(after_help = "Example:\n  gatehouse events --json")]
    Events,
    /// Print a page of the reference in Markdown, generated from this program
    #[command(after_help = "Example:\n  gatehouse reference settings")]
    Reference {
        /// Page to print
        #[arg(value_enum)]
        page: reference::Page,
    },
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  gatehouse completions bash > /etc/bash_completion.d/gatehouse")]
    Completions {
        /// Shell that runs the script
        shell: clap_complete::Shell,
    },
    /// Write a manual page for each command to a directory
    #[command(after_help = "Example:\n  gatehouse man /usr/local/share/man/man1")]
    Man {
        /// Directory to write to. Created if it does not exist
        directory: PathBuf,
    },
    /// Check and print the settings
    #[command(subcommand)]
    Config(inspect::Command),
}

/// Returns the command line with all commands.
fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program.
pub async fn main() -> ExitCode {
    let cli = Cli::parse();
    let json = cli.json;
    match run(cli).await {
        Ok(Some(report)) => {
            let text = if json { report.json.to_string() } else { report.lines };
            // A reader such as `head` may close its end early.
            let _closed = writeln!(std::io::stdout(), "{text}");
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
    gate::logs::command();
    if let Command::Webhooks(command) = cli.command {
        webhooks::run(command, &Operator::open(&mut raw, env).await?, cli.json).await?;
        return Ok(None);
    }
    let report = match cli.command {
        Command::Serve(_) | Command::Webhooks(_) => return Ok(None),
        Command::Openapi => inspect::document(&crate::api::document()),
        Command::Events => inspect::document(&crate::api::events()),
        Command::Reference { page } => reference::run(page, command()),
        Command::Completions { shell } => manual::completions(command(), shell),
        Command::Man { directory } => manual::write(command(), &directory)?,
        Command::Config(command) => inspect::run(&command, &mut raw)?,
        Command::Migrate(arguments) => migrate::run(&arguments, &raw.settings()?).await?,
        Command::Setup => {
            let office = Operator::open(&mut raw, env).await?;
            setup::run(&office, &raw.settings()?).await?
        }
        Command::Tenant(command) => {
            let office = Operator::open(&mut raw, env).await?;
            tenants::run(command, &office, &raw.settings()?).await?
        }
        Command::User(command) => {
            let office = Operator::open(&mut raw, env).await?;
            users::run(command, &office, &raw.settings()?).await?
        }
        Command::Policy(command) => policies::run(command, &Operator::open(&mut raw, env).await?).await?,
        // Boxed, because its future is larger than all others.
        Command::Saml(command) => Box::pin(saml::run(command, &mut raw, env)).await?,
        Command::Oidc(command) => Box::pin(oidc::run(command, &mut raw, env)).await?,
        Command::Domain(command) => domains::run(command, &Operator::open(&mut raw, env).await?).await?,
        Command::Audit(command) => audit::run(command, &mut raw, env).await?,
        Command::Keys(command) => keys::run(&command, cli.config.as_deref(), env).await?,
        Command::Backup(command) => backup::run(&command, &raw.settings()?)?,
        Command::Copy(command) => copy::run(&command, &raw.settings()?).await?,
        Command::Doctor => doctor::run(raw, &*env).await,
        Command::Token(command) => tokens::run(command, &mut raw, env).await?,
    };
    Ok(Some(report))
}

#[cfg(test)]
mod tests {
    use super::{reference::Page, *};

    #[test]
    fn checked_in_reference_pages_are_the_generated_ones() {
        let pages = [
            (Page::Settings, "settings", include_str!("../../../../docs/reference/settings.md")),
            (Page::Cli, "cli", include_str!("../../../../docs/reference/cli.md")),
            (Page::Errors, "errors", include_str!("../../../../docs/reference/errors.md")),
            (Page::Events, "events", include_str!("../../../../docs/reference/events.md")),
            (Page::Metrics, "metrics", include_str!("../../../../docs/reference/metrics.md")),
            (Page::Limits, "limits", include_str!("../../../../docs/reference/limits.md")),
        ];
        for (page, name, kept) in pages {
            let generate = format!("run: gatehouse reference {name} > docs/reference/{name}.md");
            assert_eq!(reference::run(page, command()).lines.trim_end(), kept.trim_end(), "{generate}");
        }
    }

    fn leaves<'c>(command: &'c clap::Command, found: &mut Vec<&'c clap::Command>) {
        let mut subcommands = command.get_subcommands().filter(|one| one.get_name() != "help").peekable();
        if subcommands.peek().is_none() {
            found.push(command);
        }
        subcommands.for_each(|one| leaves(one, found));
    }

    #[test]
    fn every_command_has_an_example_that_parses() {
        let all = command();
        let mut found = Vec::new();
        leaves(&all, &mut found);
        assert!(found.len() > 30, "{} commands", found.len());
        for one in found {
            let name = one.get_name();
            let help = one.get_after_help().unwrap_or_else(|| panic!("{name} has no example")).to_string();
            let examples: Vec<_> = help.lines().filter_map(|line| line.strip_prefix("  ")).collect();
            assert!(!examples.is_empty(), "{name}: {help}");
            for example in examples {
                let words = example.split_whitespace().take_while(|word| !["<", ">"].contains(word));
                let parsed = command().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{example}: {}", parsed.err().unwrap());
            }
        }
    }
}
