//! `gatehouse policy`

use std::path::{Path, PathBuf};

use clap::Subcommand;
use credentials::SignInPolicy;
use kernel::Ctx;
use netpolicy::{Editor, Mode, NetworkPolicyStore, Settings};
use store::Tx;

use super::{operator::Operator, report::Report, report::Result};
use crate::api::{change_network_policy, change_policy, check_policy, missing_to_sign_in};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Set the sign-in policy of a tenant; warns where no administrator could sign in under it
    SignIn {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
        /// A JSON file: signInMode, mfa, session, pat
        #[arg(long, value_name = "JSON")]
        file: PathBuf,
    },
    /// What a tenant's network policy does
    #[command(subcommand)]
    Network(Network),
}

#[derive(Subcommand)]
pub(crate) enum Network {
    /// Let everybody in from everywhere again: for whoever is locked out. The rules stay
    Off {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
    },
}

pub(crate) async fn run(command: Command, office: &Operator) -> Result<Report> {
    match command {
        Command::SignIn { tenant, file } => sign_in(&tenant, &file, office).await,
        Command::Network(Network::Off { tenant }) => network_off(&tenant, office).await,
    }
}

async fn network_off(tenant: &str, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let write = office.write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| {
        let settings = Settings { mode: Mode::Off, ..tx.network_settings_to_change().await? };
        change_network_policy(ctx, tx, Editor { address: None, acknowledged: true }, settings).await
    });
    let settings = write.await?;
    let said = format!("{} lets everybody in from everywhere; its rules are kept", tenant.slug);
    Ok(Report::new(serde_json::to_value(settings)?, said))
}

async fn sign_in(tenant: &str, file: &Path, office: &Operator) -> Result<Report> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let policy: SignInPolicy =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    check_policy(&policy).map_err(|error| format!("{}: {error}", file.display()))?;
    let tenant = office.tenant(tenant).await?;
    let write = office.write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| {
        let missing = missing_to_sign_in(&policy, ctx, tx).await?;
        Ok::<_, kernel::StoreError>(change_policy(ctx, tx, policy).await?.map(|policy| (policy, missing)))
    });
    let (policy, missing) = write.await?;
    if let Some(missing) = missing {
        // The operator may have to: this is the way out of a lockout, too.
        eprintln!(
            "gatehouse: warning: no administrator of {} can sign in under this policy: {missing}",
            tenant.slug
        );
    }
    Ok(Report::new(serde_json::to_value(&policy)?, format!("{} has this policy from now on", tenant.slug)))
}
