//! `gatehouse tenant`

use audit::{Audited, Event, events::tenants::TenantCreated};
use clap::Subcommand;
use directory::{NewTenant, Tenant, Tier};
use serde_json::{Value, json};

use super::{
    operator::Operator,
    report::{Columns, Report, Result, details, listing},
    transfer,
};
use crate::config::Settings;

/// Tenants that `list` prints.
const MAX_LISTED: i64 = 10_000;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Create a tenant
    #[command(after_help = "Example:\n  gatehouse tenant create --slug acme --name Acme")]
    Create {
        /// Short name: 2 to 63 characters of a-z, 0-9 and inner hyphens
        #[arg(long)]
        slug: String,
        /// Display name
        #[arg(long)]
        name: String,
        /// Tier: FREE, STANDARD or ENTERPRISE
        #[arg(long, default_value = "STANDARD")]
        tier: Tier,
    },
    /// List tenants, oldest first, at most 10,000
    #[command(after_help = "Example:\n  gatehouse tenant list")]
    List,
    /// Show a tenant
    #[command(after_help = "Example:\n  gatehouse tenant show --slug acme")]
    Show {
        /// Short name
        #[arg(long)]
        slug: String,
    },
    /// Write a tenant with its audit log to a file, to import it into another installation
    #[command(after_help = "Example:\n  gatehouse tenant export --slug acme --to acme.jsonl")]
    Export(transfer::Export),
    /// Import an exported tenant and verify its audit log
    #[command(after_help = "Example:\n  gatehouse tenant import --from acme.jsonl")]
    Import(transfer::Import),
}

pub(crate) async fn run(command: Command, office: &Operator, settings: &Settings) -> Result<Report> {
    match command {
        Command::Create { slug, name, tier } => create(NewTenant { slug, name, tier }, office).await,
        Command::List => list(office).await,
        Command::Show { slug } => Ok(show(&office.tenant(&slug).await?)),
        Command::Export(command) => transfer::export(&command, office, settings).await,
        Command::Import(command) => transfer::import(&command, office, settings).await,
    }
}

fn json_of(tenant: &Tenant) -> Value {
    json!({
        "id": tenant.id,
        "slug": tenant.slug,
        "name": tenant.name,
        "tier": tenant.tier.as_str(),
        "createdAt": tenant.created_at,
    })
}

async fn list(office: &Operator) -> Result<Report> {
    let tenants = office.store.across(async |across| across.some_tenants(MAX_LISTED).await).await?;
    let columns: &Columns<'_, Tenant> = &[
        ("SLUG", &|tenant| tenant.slug.clone()),
        ("NAME", &|tenant| tenant.name.clone()),
        ("TIER", &|tenant| tenant.tier.as_str().to_owned()),
        ("CREATED", &|tenant| tenant.created_at.to_string()),
        ("ID", &|tenant| tenant.id.to_string()),
    ];
    let empty = "No tenants yet. Create one with: gatehouse tenant create --slug acme --name Acme";
    Ok(listing("tenants", &tenants, json_of, columns, empty))
}

fn show(tenant: &Tenant) -> Report {
    let lines = details(&[
        ("ID", tenant.id.to_string()),
        ("Slug", tenant.slug.clone()),
        ("Name", tenant.name.clone()),
        ("Tier", tenant.tier.as_str().to_owned()),
        ("Created", tenant.created_at.to_string()),
    ]);
    Report::new(json_of(tenant), lines)
}

async fn create(new: NewTenant, office: &Operator) -> Result<Report> {
    let tenant = Tenant::new(&*office.env, new)?;
    let made = tenant.clone();
    let write = office.write(&tenant.id, async move |_, tx| {
        directory::create_tenant(tx, &made).await?;
        let data = TenantCreated { slug: made.slug.clone(), tier: made.tier.as_str() };
        Ok::<_, directory::Error>(Audited::new((), Event::new(made.id.as_str(), &data)))
    });
    write.await?;
    let json = json!({ "id": tenant.id, "slug": tenant.slug });
    Ok(Report::new(json, format!("Created tenant {} ({})", tenant.slug, tenant.id)))
}
