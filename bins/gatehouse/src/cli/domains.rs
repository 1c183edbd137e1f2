//! `gatehouse domain`

use audit::{
    Audited, Event,
    events::saml::{DomainRemoved, DomainVerified},
};
use clap::Subcommand;
use kernel::{Ctx, StoreError};
use saml_sp::{DomainError, DomainStore, EmailDomain, Method};
use serde_json::json;
use store::Tx;

use super::{operator::Operator, report::Report, report::Result};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Take it as proved that a domain is a tenant's: people with its addresses are led to that tenant's identity provider
    Verify {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
        /// Such as example.com
        #[arg(long)]
        domain: EmailDomain,
    },
    /// List the domains that a tenant has proved
    List {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
    },
    /// Take a domain from a tenant: another may prove it then
    Remove {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
        /// Such as example.com
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
        let (_, is_new) = saml_sp::own(ctx, tx, wanted.clone(), Method::Operator).await?;
        let data = DomainVerified { method: Method::Operator.as_str().to_owned() };
        let event = is_new.then(|| Event::new(wanted.as_str(), &data));
        Ok::<_, DomainError>(Audited::of_changes((), event.into_iter().collect()))
    });
    write.await?;
    let said = format!("{domain} is {}'s", tenant.slug);
    Ok(Report::new(json!({ "domain": domain, "verified": true }), said))
}

async fn list(tenant: &str, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let read = async |tx: &mut Tx| tx.verified_domains().await;
    let found = office.store.read::<_, StoreError>(tenant.id, read).await?;
    let shown = found.iter().map(
        |one| json!({ "domain": one.domain, "method": one.method.as_str(), "verifiedAt": one.verified_at }),
    );
    let lines =
        found.iter().map(|one| format!("{}  {}  {}", one.domain, one.method.as_str(), one.verified_at));
    Ok(Report::new(json!({ "domains": shown.collect::<Vec<_>>() }), lines.collect::<Vec<_>>().join("\n")))
}

async fn remove(tenant: &str, domain: EmailDomain, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let wanted = domain.clone();
    let write = office.write(&tenant.id, async move |_: &Ctx, tx: &mut Tx| {
        saml_sp::give_up(tx, &wanted).await?;
        Ok::<_, DomainError>(Audited::new((), Event::new(wanted.as_str(), &DomainRemoved {})))
    });
    write.await?;
    let said = format!("{domain} is {}'s no more", tenant.slug);
    Ok(Report::new(json!({ "domain": domain, "deleted": true }), said))
}
