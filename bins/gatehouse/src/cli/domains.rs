//! `gatehouse domain`

use clap::Subcommand;
use kernel::{Ctx, StoreError};
use saml_sp::{DomainStore, EmailDomain, VerifiedDomain};
use serde_json::json;
use sign_in::sso;
use store::Tx;

use super::{
    operator::Operator,
    report::{Report, Result, table},
};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Verify a domain for a tenant without a DNS record: its users sign in with the tenant's identity provider
    #[command(after_help = "Example:\n  gatehouse domain verify --tenant acme --domain example.com")]
    Verify {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
        /// Domain, such as example.com
        #[arg(long)]
        domain: EmailDomain,
    },
    /// List a tenant's verified domains
    #[command(after_help = "Example:\n  gatehouse domain list --tenant acme")]
    List {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
    },
    /// Remove a verified domain from a tenant; another tenant can then verify it
    #[command(after_help = "Example:\n  gatehouse domain remove --tenant acme --domain example.com")]
    Remove {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
        /// Domain, such as example.com
        #[arg(long)]
        domain: EmailDomain,
    },
}

pub(crate) async fn run(command: Command, office: &Operator) -> Result<Report> {
    match command {
        Command::Verify { tenant, domain } => verify(&tenant, domain, office).await,
        Command::List { tenant } => list(&tenant, office).await,
        Command::Remove { tenant, domain } => remove(&tenant, domain, office).await,
    }
}

async fn verify(tenant: &str, domain: EmailDomain, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let wanted = domain.clone();
    let write = office.write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| {
        sso::verify_domain_as_operator(ctx, tx, &wanted).await
    });
    write.await?;
    let said = format!("Verified {domain} for {}", tenant.slug);
    Ok(Report::new(json!({ "domain": domain, "verified": true }), said))
}

async fn list(tenant: &str, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let read = async |tx: &mut Tx| tx.verified_domains().await;
    let found = office.store.read::<_, StoreError>(tenant.id, read).await?;
    let shown = found.iter().map(
        |one| json!({ "domain": one.domain, "method": one.method.as_str(), "verifiedAt": one.verified_at }),
    );
    let row = |one: &VerifiedDomain| {
        vec![one.domain.to_string(), one.method.as_str().to_owned(), one.verified_at.to_string()]
    };
    let rows = found.iter().map(row).collect();
    let empty = format!(
        "{0} has no verified domains. Verify one with: gatehouse domain verify --tenant {0} --domain example.com",
        tenant.slug
    );
    let lines = table(&["DOMAIN", "METHOD", "VERIFIED"], rows, &empty);
    Ok(Report::new(json!({ "domains": shown.collect::<Vec<_>>() }), lines))
}

async fn remove(tenant: &str, domain: EmailDomain, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let wanted = domain.clone();
    let write = async move |_: &Ctx, tx: &mut Tx| sso::release_domain(tx, &wanted).await;
    office.write(&tenant.id, write).await?;
    let said = format!("Removed {domain} from {}", tenant.slug);
    Ok(Report::new(json!({ "domain": domain, "deleted": true }), said))
}
