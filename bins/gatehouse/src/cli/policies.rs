//! `gatehouse policy`

use std::path::PathBuf;

use clap::Subcommand;
use credentials::SignInPolicy;
use kernel::Ctx;
use store::Tx;

use super::{Office, Report, Result};
use crate::http::change_policy;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Set what a tenant asks of those who sign in
    SignIn {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
        /// A JSON file: signInMode, mfa, session
        #[arg(long, value_name = "JSON")]
        file: PathBuf,
    },
}

pub(super) async fn run(command: Command, office: &Office) -> Result<Report> {
    let Command::SignIn { tenant, file } = command;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let policy: SignInPolicy =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    policy.check().map_err(|error| format!("{}: {error}", file.display()))?;
    let tenant = office.tenant(&tenant).await?;
    let write =
        office.write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| change_policy(ctx, tx, policy).await);
    let policy = write.await?;
    Ok(Report::new(serde_json::to_value(&policy)?, format!("{} has this policy from now on", tenant.slug)))
}
