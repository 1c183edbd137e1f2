//! `gatehouse saml`

use std::{io::Read, path::Path, sync::Arc};

use clap::{Args, Subcommand};
use kernel::{Ctx, Env, StoreError, TenantId};
use saml_sp::{
    MAX_METADATA, New, OtherSide, Provider, ProviderChange, ProviderError, ProviderId, ProviderStore,
    ResolvedMetadata, SealedKey, ServiceProvider, Source, TenantSetup,
};
use serde_json::json;
use sign_in::sso;
use store::Tx;
use webhooks::client::Client;

use super::{
    operator::Operator,
    report::{Report, Result, or_hyphen, table},
};
use crate::{
    api::ProviderView,
    config::{Raw, Settings},
    metadata,
    workers::deliveries::client,
};
use gate::keys::Keys;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Add an SSO connection from the identity provider's metadata
    #[command(
        after_help = "Example:\n  gatehouse saml add --tenant acme --name Okta --metadata okta.xml --email-domains example.com"
    )]
    Add {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
        /// Name of the connection
        #[arg(long)]
        name: String,
        #[command(flatten)]
        from: From,
        /// Email domains whose users it may sign in, separated by commas
        #[arg(long, value_delimiter = ',', required = true)]
        email_domains: Vec<String>,
        /// Sign users out at the identity provider too when they sign out
        #[arg(long)]
        sign_out_at_provider: bool,
    },
    /// List a tenant's SSO connections
    #[command(after_help = "Example:\n  gatehouse saml list --tenant acme")]
    List {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
    },
    /// Show an SSO connection and the values to enter at the identity provider
    #[command(
        after_help = "Example:\n  gatehouse saml show --id sso_01jz000000000000000000000001jz4444444444444444444444"
    )]
    Show(ProviderSelection),
    /// Remove an SSO connection
    #[command(
        after_help = "Example:\n  gatehouse saml remove --id sso_01jz000000000000000000000001jz4444444444444444444444"
    )]
    Remove(ProviderSelection),
    /// Start a rotation of the service provider's key; complete it once the identity provider has the new certificate
    #[command(
        after_help = "Example:\n  gatehouse saml rotate --id sso_01jz000000000000000000000001jz4444444444444444444444"
    )]
    Rotate {
        #[command(flatten)]
        which: ProviderSelection,
        /// Complete the rotation: sign with the new key from now on
        #[arg(long)]
        complete: bool,
    },
    /// Fetch the identity provider's metadata now
    #[command(
        after_help = "Example:\n  gatehouse saml refresh --id sso_01jz000000000000000000000001jz4444444444444444444444"
    )]
    Refresh(ProviderSelection),
}

/// Source of the metadata.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct From {
    /// File with metadata; - reads standard input
    #[arg(long, value_name = "FILE")]
    metadata: Option<String>,
    /// URL of the metadata, fetched now and every six hours
    #[arg(long, value_name = "URL")]
    metadata_url: Option<String>,
}

/// Selects a connection.
#[derive(Args)]
pub(crate) struct ProviderSelection {
    /// ID of the connection: sso_…
    #[arg(long)]
    id: ProviderId,
}

pub(crate) async fn run(command: Command, raw: &mut Raw, env: Arc<dyn Env>) -> Result<Report> {
    let desk = ProviderOperator { office: Operator::open(raw, env).await?, settings: raw.settings()? };
    match command {
        Command::Add { tenant, name, from, email_domains, sign_out_at_provider } => {
            let change = ProviderChange {
                name,
                email_domains,
                sign_requests: true,
                sign_out_at_provider,
                ..ProviderChange::default()
            };
            desk.add(&tenant, change, from).await
        }
        Command::List { tenant } => desk.list(&tenant).await,
        Command::Show(which) => desk.show(&which.id).await,
        Command::Remove(which) => desk.remove(which.id).await,
        Command::Rotate { which, complete: false } => desk.rotate(which.id).await,
        Command::Rotate { which, complete: true } => desk.complete(which.id).await,
        Command::Refresh(which) => desk.refresh(which.id).await,
    }
}

/// The operator, with the settings that SSO connections need.
struct ProviderOperator {
    office: Operator,
    settings: Settings,
}

fn owner(id: &ProviderId) -> Result<TenantId> {
    id.tenant().ok_or_else(|| ProviderError::NotFound.into())
}

impl ProviderOperator {
    /// Returns an HTTP client with the address rules of the server's.
    fn client(&self) -> Result<Client> {
        Ok(client(&self.settings.webhooks)?)
    }

    fn new_key(&self, id: &ProviderId) -> Result<SealedKey> {
        let Some(masters) = &self.settings.master_key else {
            return Err(
                "GATEHOUSE_MASTER_KEY is not set. The private key of the connection is encrypted with it."
                    .into(),
            );
        };
        let keys = Keys::fixed(masters, &[]).saml();
        let entity_id = ServiceProvider::of(&self.settings.base_url(), id).entity_id;
        Ok(SealedKey::generate(&keys, id, &entity_id, self.office.env.now())?)
    }

    async fn known(&self, from: From) -> Result<ResolvedMetadata> {
        let now = self.office.env.now();
        let other = match (from.metadata, from.metadata_url) {
            (Some(file), _) => OtherSide::MetadataXml(text_of(&file)?),
            (None, Some(url)) => {
                let client = self.client()?;
                let problem = |problem| format!("--metadata-url: {problem}");
                let target = metadata::target(&client, &url).map_err(problem)?;
                let text = metadata::read(&client, target.as_str()).await.map_err(problem)?;
                OtherSide::MetadataUrl { url: target.as_str().to_owned(), text }
            }
            (None, None) => return Err("Set --metadata FILE or --metadata-url URL".into()),
        };
        Ok(other.checked(now)?)
    }

    async fn provider(&self, id: &ProviderId) -> Result<(Provider, TenantSetup)> {
        let wanted = id.clone();
        let read = async move |tx: &mut Tx| {
            let provider = tx.provider(&wanted).await?.ok_or(ProviderError::NotFound)?;
            Ok::<_, ProviderError>((provider, sso::tenant_setup(tx).await?))
        };
        Ok(self.office.store.read(owner(id)?, read).await?)
    }

    async fn add(&self, tenant: &str, change: ProviderChange, from: From) -> Result<Report> {
        let tenant = self.office.tenant(tenant).await?;
        let change = change.checked()?;
        let known = self.known(from).await?;
        let id = ProviderId::new(&*self.office.env, &tenant.id);
        let key = self.new_key(&id)?;
        let write = self.office.write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| {
            sso::create(ctx, tx, New { id, key, change, known }).await
        });
        let made = write.await?;
        let service = ServiceProvider::of(&self.settings.base_url(), &made.id);
        let lines = format!(
            "Added {}. Enter these values at the identity provider:\nEntity ID          {}\nACS URL            {}\nSingle logout URL  {}",
            made.id, service.entity_id, service.acs_url, service.slo_url
        );
        Ok(Report::new(json!({ "id": made.id }), lines))
    }

    async fn list(&self, tenant: &str) -> Result<Report> {
        let tenant = self.office.tenant(tenant).await?;
        let read = async |tx: &mut Tx| tx.providers().await;
        let found = self.office.store.read::<_, StoreError>(tenant.id, read).await?;
        let shown = found.iter().map(|one| {
            json!({
                "id": one.id,
                "name": one.name,
                "emailDomains": one.email_domains,
                "entityId": one.idp.entity_id,
                "certificatesEndAt": one.expires_at(),
            })
        });
        let row = |one: &Provider| {
            let domains: Vec<_> = one.email_domains.iter().map(ToString::to_string).collect();
            vec![one.name.clone(), domains.join(","), or_hyphen(one.expires_at()), one.id.to_string()]
        };
        let rows = found.iter().map(row).collect();
        let empty = "No SSO connections. Add one with gatehouse saml add, or at /settings/sso";
        let lines = table(&["NAME", "DOMAINS", "CERTIFICATES EXPIRE", "ID"], rows, empty);
        Ok(Report::new(json!({ "providers": shown.collect::<Vec<_>>() }), lines))
    }

    async fn show(&self, id: &ProviderId) -> Result<Report> {
        let (provider, tenant) = self.provider(id).await?;
        let shown = ProviderView::of(&self.settings.base_url(), &provider, &tenant, self.office.env.now());
        let json = serde_json::to_value(shown)?;
        let lines = serde_json::to_string_pretty(&json)?;
        Ok(Report::new(json, lines))
    }

    async fn remove(&self, id: ProviderId) -> Result<Report> {
        let gone = id.clone();
        let tenant = owner(&id)?;
        let write = async move |ctx: &Ctx, tx: &mut Tx| sso::remove(ctx, tx, &gone).await;
        self.office.write(&tenant, write).await?;
        Ok(Report::new(json!({ "id": id, "deleted": true }), format!("Removed {id}")))
    }

    async fn rotate(&self, id: ProviderId) -> Result<Report> {
        let (found, _) = self.provider(&id).await?;
        if found.keys.next.is_some() {
            return Err(ProviderError::RotationUnderWay.into());
        }
        let (key, wanted) = (self.new_key(&id)?, id.clone());
        let certificate = key.certificate.fingerprint();
        let tenant = owner(&id)?;
        let write = self.office.write(&tenant, async move |ctx: &Ctx, tx: &mut Tx| {
            sso::start_rotation(ctx, tx, &wanted, key).await
        });
        write.await?;
        let said = format!(
            "Added certificate {certificate} to the metadata of {id}.\nOnce the identity provider accepts it, run: gatehouse saml rotate --id {id} --complete"
        );
        Ok(Report::new(json!({ "id": id, "phase": "STARTED", "certificate": certificate }), said))
    }

    async fn complete(&self, id: ProviderId) -> Result<Report> {
        let wanted = id.clone();
        let tenant = owner(&id)?;
        let write = self.office.write(&tenant, async move |ctx: &Ctx, tx: &mut Tx| {
            sso::complete_rotation(ctx, tx, &wanted).await
        });
        let certificate = write.await?.keys.active.certificate.fingerprint();
        let said =
            format!("Completed the rotation of {id}. Requests are signed with certificate {certificate}.");
        Ok(Report::new(json!({ "id": id, "phase": "COMPLETED", "certificate": certificate }), said))
    }

    async fn refresh(&self, id: ProviderId) -> Result<Report> {
        let (found, _) = self.provider(&id).await?;
        let Source::MetadataUrl(url) = found.source else {
            return Err("This connection has no metadata URL. Set one to refresh its metadata.".into());
        };
        let read = metadata::read(&self.client()?, &url).await;
        let wanted = id.clone();
        let tenant = owner(&id)?;
        let write = self.office.write(&tenant, async move |ctx: &Ctx, tx: &mut Tx| {
            sso::refresh(ctx, tx, &wanted, &url, read).await
        });
        let refreshed = write.await?;
        if let Some(problem) = refreshed.problem {
            return Err(format!("{id}: {problem}").into());
        }
        let said = match refreshed.changed.as_slice() {
            [] => "Metadata is unchanged".to_owned(),
            changed => format!("Changed: {}", changed.join(", ")),
        };
        Ok(Report::new(json!({ "id": id, "changed": refreshed.changed }), said))
    }
}

/// Reads a file or standard input, at most one byte more than metadata may have.
fn text_of(file: &str) -> Result<String> {
    let most = u64::try_from(MAX_METADATA)? + 1;
    let mut text = String::new();
    let read = if file == "-" {
        std::io::stdin().take(most).read_to_string(&mut text)
    } else {
        std::fs::File::open(Path::new(file)).and_then(|file| file.take(most).read_to_string(&mut text))
    };
    read.map_err(|error| format!("--metadata: {file}: {error}"))?;
    Ok(text)
}
