//! `gatehouse policy`

use std::path::{Path, PathBuf};

use clap::Subcommand;
use credentials::{SignInPolicy, SignInStore};
use kernel::{Ctx, StoreError};
use netpolicy::{Editor, Mode, NetworkPolicyStore, Settings};
use serde_json::json;
use sign_in::{change_network_policy, change_policy, check_policy, missing_to_sign_in};
use store::Tx;

use super::{operator::Operator, report::Report, report::Result};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Set a tenant's sign-in policy. Warns if no administrator could sign in under it
    #[command(after_help = "Example:\n  gatehouse policy sign-in --tenant acme --file policy.json")]
    SignIn {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
        /// JSON file with signInMode, mfa, session and pat
        #[arg(long, value_name = "JSON")]
        file: PathBuf,
    },
    /// Show a tenant's sign-in policy and network policy as JSON
    #[command(after_help = "Example:\n  gatehouse policy show --tenant acme")]
    Show {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
    },
    /// Manage a tenant's network policy
    #[command(subcommand)]
    Network(Network),
}

#[derive(Subcommand)]
pub(crate) enum Network {
    /// Turn the network policy off, for an administrator who is locked out. Its rules stay
    #[command(after_help = "Example:\n  gatehouse policy network off --tenant acme")]
    Off {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
    },
}

pub(crate) async fn run(command: Command, office: &Operator) -> Result<Report> {
    match command {
        Command::SignIn { tenant, file } => sign_in(&tenant, &file, office).await,
        Command::Show { tenant } => show(&tenant, office).await,
        Command::Network(Network::Off { tenant }) => network_off(&tenant, office).await,
    }
}

async fn show(tenant: &str, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let read = async |tx: &mut Tx| {
        let sign_in = tx.sign_in_policy().await?;
        let (settings, rules) = tx.network_policy().await?;
        Ok::<_, StoreError>((sign_in, settings, rules))
    };
    let (sign_in, settings, rules) = office.store.read(tenant.id, read).await?;
    let rules =
        rules.iter().map(|rule| json!({ "id": rule.id, "cidr": rule.cidr.to_string(), "label": rule.label }));
    let network = json!({ "settings": settings, "rules": rules.collect::<Vec<_>>() });
    let json = json!({ "signIn": sign_in, "network": network });
    let lines = serde_json::to_string_pretty(&json)?;
    Ok(Report::new(json, lines))
}

async fn network_off(tenant: &str, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let write = office.write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| {
        let settings = Settings { mode: Mode::Off, ..tx.network_settings_to_change().await? };
        change_network_policy(ctx, tx, Editor { address: None, acknowledged: true }, settings).await
    });
    let settings = write.await?;
    let said = format!("Network policy of {} is off. Its rules are kept.", tenant.slug);
    Ok(Report::new(serde_json::to_value(settings)?, said))
}

async fn sign_in(tenant: &str, file: &Path, office: &Operator) -> Result<Report> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let policy: SignInPolicy =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    check_policy(&policy).map_err(|error| format!("{}: {error}", file.display()))?;
    let tenant = office.tenant(tenant).await?;
    let write = office.write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| {
        // The command line does not know whether passkeys work at the server's address.
        let missing = missing_to_sign_in(tx, &policy, true, ctx.now).await?;
        Ok::<_, StoreError>(change_policy(ctx, tx, policy).await?.map(|policy| (policy, missing)))
    });
    let (policy, missing) = write.await?;
    if let Some(missing) = missing {
        // Only a warning: an operator also uses this command to end a lockout.
        eprintln!(
            "gatehouse: warning: no administrator of {} can sign in under this policy: {missing}",
            tenant.slug
        );
    }
    Ok(Report::new(serde_json::to_value(&policy)?, format!("Changed the sign-in policy of {}", tenant.slug)))
}
