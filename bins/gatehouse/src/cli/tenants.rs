//! `gatehouse tenant`

use audit::{Audited, Event, events::tenants::TenantCreated};
use clap::Subcommand;
use directory::{NewTenant, Tenant, Tier};
use serde_json::json;

use super::{operator::Operator, report::Report, report::Result};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a tenant
    Create {
        /// Short name in addresses: 2 to 63 characters of a-z, 0-9 and inner hyphens
        #[arg(long)]
        slug: String,
        /// Name for people to read
        #[arg(long)]
        name: String,
        /// FREE, STANDARD or ENTERPRISE
        #[arg(long, default_value = "STANDARD")]
        tier: Tier,
    },
}

pub(crate) async fn run(command: Command, office: &Operator) -> Result<Report> {
    let Command::Create { slug, name, tier } = command;
    let tenant = Tenant::new(&*office.env, NewTenant { slug, name, tier })?;
    let made = tenant.clone();
    let write = office.write(&tenant.id, async move |_, tx| {
        directory::create_tenant(tx, &made).await?;
        let data = TenantCreated { slug: made.slug.clone(), tier: made.tier.as_str() };
        Ok::<_, directory::Error>(Audited::new((), Event::new(made.id.as_str(), &data)))
    });
    write.await?;
    let json = json!({ "id": tenant.id, "slug": tenant.slug });
    Ok(Report::new(json, format!("tenant {} is {}", tenant.slug, tenant.id)))
}
