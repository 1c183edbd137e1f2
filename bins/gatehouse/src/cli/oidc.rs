//! `gatehouse oidc`

use std::{collections::BTreeMap, sync::Arc};

use clap::{Args, Subcommand, ValueEnum};
use kernel::{Ctx, Env, Secret, StoreError, TenantId};
use oidc_rp::{ClientAuth, Prompt};
use saml_sp::{Protocol, ProviderError, ProviderId, SealedKey, TenantSetup};
use serde_json::json;
use sign_in::sso::{
    self,
    oidc::{
        self, NewOidcProvider, OidcChange, OidcProvider, OidcSettings, OidcStore, RelyingParty, SealedSecret,
    },
};
use store::Tx;
use webhooks::client::Client;

use super::{
    operator::Operator,
    report::{Report, Result, listing},
    users::secret_from_stdin,
};
use crate::{
    api::OidcProviderView,
    config::{Raw, Settings},
    oidc_client,
    workers::deliveries::client,
};
use gate::keys::{Keys, ProviderKeys};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Add an SSO connection with OpenID Connect
    #[command(
        after_help = "Example:\n  gatehouse oidc add --tenant acme --name Okta --issuer https://example.okta.com --client-id 0oa1 --client-secret-stdin --email-domains example.com < secret.txt"
    )]
    Add(Box<Add>),
    /// List a tenant's SSO connections with OpenID Connect
    #[command(after_help = "Example:\n  gatehouse oidc list --tenant acme")]
    List {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
    },
    /// Show an SSO connection and the values to enter at the provider
    #[command(
        after_help = "Example:\n  gatehouse oidc show --id oidc_01jz000000000000000000000001jz4444444444444444444444"
    )]
    Show(ProviderSelection),
    /// Remove an SSO connection
    #[command(
        after_help = "Example:\n  gatehouse oidc remove --id oidc_01jz000000000000000000000001jz4444444444444444444444"
    )]
    Remove(ProviderSelection),
    /// Start a rotation of the key for private_key_jwt; complete it once the provider knows the new key
    #[command(
        after_help = "Example:\n  gatehouse oidc rotate --id oidc_01jz000000000000000000000001jz4444444444444444444444"
    )]
    Rotate {
        #[command(flatten)]
        which: ProviderSelection,
        /// Complete the rotation: sign with the new key from now on
        #[arg(long)]
        complete: bool,
    },
    /// Read the provider's metadata and keys now
    #[command(
        after_help = "Example:\n  gatehouse oidc refresh --id oidc_01jz000000000000000000000001jz4444444444444444444444"
    )]
    Refresh(ProviderSelection),
}

/// The settings of a new connection.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options that do not depend on each other")]
pub(crate) struct Add {
    /// Slug of the tenant
    #[arg(long)]
    tenant: String,
    /// Name of the connection
    #[arg(long)]
    name: String,
    /// Issuer, exactly as the provider names it
    #[arg(long, value_name = "URL")]
    issuer: String,
    /// Client ID at the provider
    #[arg(long)]
    client_id: String,
    /// How to authenticate at the token endpoint
    #[arg(long, value_name = "METHOD", default_value = "client_secret_basic")]
    auth_method: AuthMethod,
    /// Read the client secret from standard input
    #[arg(long)]
    client_secret_stdin: bool,
    /// Audience of client assertions. Default: the issuer
    #[arg(long, value_name = "AUDIENCE")]
    client_assertion_audience: Option<String>,
    /// Email domains whose users it may sign in, separated by commas
    #[arg(long, value_delimiter = ',', required = true)]
    email_domains: Vec<String>,
    /// Scopes to request besides openid, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "email,profile")]
    scopes: Vec<String>,
    /// What the provider asks of the user
    #[arg(long)]
    prompt: Option<PromptName>,
    /// How long ago the user may have signed in at the provider, in seconds
    #[arg(long, value_name = "SECONDS")]
    max_age: Option<u32>,
    /// Accepted authentication context classes, separated by commas
    #[arg(long, value_delimiter = ',')]
    acr_values: Vec<String>,
    /// A claim and the value that it must have, such as hd=example.com. Repeat it for several values
    #[arg(long, value_name = "CLAIM=VALUE", value_parser = claim_and_value)]
    required_claim: Vec<(String, String)>,
    /// Claim with the email address
    #[arg(long, value_name = "CLAIM", default_value = "email")]
    email_claim: String,
    /// Trust every address in the claim, because only the provider's administrators can set it
    #[arg(long)]
    trust_email_claim: bool,
    /// Read claims from the UserInfo endpoint too
    #[arg(long)]
    use_user_info: bool,
    /// Sign users out at the provider too when they sign out
    #[arg(long)]
    sign_out_at_provider: bool,
}

/// Methods of client authentication.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum AuthMethod {
    /// With the secret in a header
    ClientSecretBasic,
    /// With the secret in the body
    ClientSecretPost,
    /// With a key of this connection
    PrivateKeyJwt,
}

/// Values of the parameter `prompt`.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum PromptName {
    /// To sign in again
    Login,
    /// To select an account
    SelectAccount,
    /// To consent
    Consent,
}

/// Selects a connection.
#[derive(Args)]
pub(crate) struct ProviderSelection {
    /// ID of the connection: oidc_…
    #[arg(long)]
    id: ProviderId,
}

fn claim_and_value(text: &str) -> std::result::Result<(String, String), &'static str> {
    let pair = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let (name, value) = pair.ok_or("write a claim and its value such as hd=example.com")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Add {
    fn change(self) -> OidcChange {
        let mut required_claims: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in self.required_claim {
            required_claims.entry(name).or_default().push(value);
        }
        let token_endpoint_auth_method = match self.auth_method {
            AuthMethod::ClientSecretBasic => ClientAuth::ClientSecretBasic,
            AuthMethod::ClientSecretPost => ClientAuth::ClientSecretPost,
            AuthMethod::PrivateKeyJwt => ClientAuth::PrivateKeyJwt,
        };
        let settings = OidcSettings {
            client_id: self.client_id,
            token_endpoint_auth_method,
            client_assertion_audience: self.client_assertion_audience,
            scopes: self.scopes,
            prompt: self.prompt.map(|prompt| match prompt {
                PromptName::Login => Prompt::Login,
                PromptName::SelectAccount => Prompt::SelectAccount,
                PromptName::Consent => Prompt::Consent,
            }),
            max_age: self.max_age,
            acr_values: self.acr_values,
            required_claims,
            email_claim: self.email_claim,
            trust_email_claim: self.trust_email_claim,
            use_user_info: self.use_user_info,
            sign_out_at_provider: self.sign_out_at_provider,
            signing_algorithms: None,
        };
        let (name, email_domains, issuer) = (self.name, self.email_domains, self.issuer);
        OidcChange { name, email_domains, issuer, settings }
    }
}

pub(crate) async fn run(command: Command, raw: &mut Raw, env: Arc<dyn Env>) -> Result<Report> {
    let desk = OidcOperator { office: Operator::open(raw, env).await?, settings: raw.settings()? };
    match command {
        Command::Add(add) => {
            let secret = if add.client_secret_stdin { Some(secret_from_stdin()?) } else { None };
            let tenant = add.tenant.clone();
            desk.add(&tenant, add.change(), secret).await
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
struct OidcOperator {
    office: Operator,
    settings: Settings,
}

fn owner(id: &ProviderId) -> Result<TenantId> {
    id.tenant().ok_or_else(|| ProviderError::NotFound.into())
}

impl OidcOperator {
    /// Returns an HTTP client with the address rules of the server's.
    fn client(&self) -> Result<Client> {
        Ok(client(&self.settings.webhooks)?)
    }

    fn keys(&self) -> Result<ProviderKeys> {
        let Some(masters) = &self.settings.master_key else {
            return Err(
                "GATEHOUSE_MASTER_KEY is not set. The secrets of the connection are encrypted with it."
                    .into(),
            );
        };
        Ok(Keys::fixed(masters, &[]).saml())
    }

    fn relying_party(&self, id: &ProviderId) -> RelyingParty {
        RelyingParty::of(&self.settings.base_url(), id)
    }

    fn new_key(&self, id: &ProviderId) -> Result<SealedKey> {
        let url = self.relying_party(id).redirect_uri;
        Ok(SealedKey::generate(&self.keys()?, id, &url, self.office.env.now())?)
    }

    async fn provider(&self, id: &ProviderId) -> Result<(OidcProvider, TenantSetup)> {
        let wanted = id.clone();
        let read = async move |tx: &mut Tx| {
            let provider = tx.oidc_provider(&wanted).await?.ok_or(ProviderError::NotFound)?;
            Ok::<_, ProviderError>((provider, sso::tenant_setup(tx).await?))
        };
        Ok(self.office.store.read(owner(id)?, read).await?)
    }

    async fn add(&self, tenant: &str, change: OidcChange, secret: Option<Secret<String>>) -> Result<Report> {
        let tenant = self.office.tenant(tenant).await?;
        let change = change.checked()?;
        let discovered = oidc_client::discover(&self.client()?, change.issuer()).await?;
        let id = ProviderId::of(Protocol::Oidc, &*self.office.env, &tenant.id);
        let (keys, now) = (self.keys()?, self.office.env.now());
        let secret = secret.map(|secret| SealedSecret::new(&keys, &id, &secret, now)).transpose()?;
        let new = NewOidcProvider { key: self.new_key(&id)?, id, secret, change, discovered };
        let write = self
            .office
            .write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| oidc::create(ctx, tx, new).await);
        let made = write.await?;
        let ours = self.relying_party(&made.id);
        let lines = format!(
            "Added {}. Enter these values at the provider:\n\
             Redirect URI              {}\n\
             Back-channel logout URI   {}\n\
             Post-logout redirect URI  {}\n\
             Key set                   {} (private_key_jwt only)",
            made.id,
            ours.redirect_uri,
            ours.backchannel_logout_uri,
            ours.post_logout_redirect_uri,
            ours.jwks_uri
        );
        let report = json!({
            "id": made.id,
            "redirectUri": ours.redirect_uri,
            "jwksUri": ours.jwks_uri,
            "backchannelLogoutUri": ours.backchannel_logout_uri,
            "postLogoutRedirectUri": ours.post_logout_redirect_uri,
        });
        Ok(Report::new(report, lines))
    }

    async fn list(&self, tenant: &str) -> Result<Report> {
        let tenant = self.office.tenant(tenant).await?;
        let read = async |tx: &mut Tx| tx.oidc_providers().await;
        let found = self.office.store.read::<_, StoreError>(tenant.id, read).await?;
        let json_of = |one: &OidcProvider| {
            json!({
                "id": one.id,
                "name": one.name,
                "emailDomains": one.email_domains,
                "issuer": one.metadata.issuer,
            })
        };
        let domains = |one: &OidcProvider| {
            one.email_domains.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        let empty =
            "No SSO connections with OpenID Connect. Add one with gatehouse oidc add, or at /settings/sso";
        Ok(listing(
            "providers",
            &found,
            json_of,
            &[
                ("NAME", &|one: &OidcProvider| one.name.clone()),
                ("DOMAINS", &domains),
                ("ISSUER", &|one: &OidcProvider| one.metadata.issuer.clone()),
                ("ID", &|one: &OidcProvider| one.id.to_string()),
            ],
            empty,
        ))
    }

    async fn show(&self, id: &ProviderId) -> Result<Report> {
        let (provider, tenant) = self.provider(id).await?;
        let now = self.office.env.now();
        let shown = OidcProviderView::of(&self.settings.base_url(), &provider, &tenant, now);
        let json = serde_json::to_value(shown)?;
        let lines = serde_json::to_string_pretty(&json)?;
        Ok(Report::new(json, lines))
    }

    async fn remove(&self, id: ProviderId) -> Result<Report> {
        let (gone, tenant) = (id.clone(), owner(&id)?);
        let write = async move |ctx: &Ctx, tx: &mut Tx| oidc::remove(ctx, tx, &gone).await;
        self.office.write(&tenant, write).await?;
        Ok(Report::new(json!({ "id": id, "deleted": true }), format!("Removed {id}")))
    }

    async fn rotate(&self, id: ProviderId) -> Result<Report> {
        let (found, _) = self.provider(&id).await?;
        if found.keys.next.is_some() {
            return Err(ProviderError::RotationUnderWay.into());
        }
        let (key, wanted, tenant) = (self.new_key(&id)?, id.clone(), owner(&id)?);
        let certificate = key.certificate.fingerprint();
        let write = self.office.write(&tenant, async move |ctx: &Ctx, tx: &mut Tx| {
            oidc::start_rotation(ctx, tx, &wanted, key).await
        });
        write.await?;
        let said = format!(
            "Added key {certificate} to the key set of {id}.\nOnce the provider knows it, run: gatehouse oidc rotate --id {id} --complete"
        );
        Ok(Report::new(json!({ "id": id, "phase": "STARTED", "certificate": certificate }), said))
    }

    async fn complete(&self, id: ProviderId) -> Result<Report> {
        let (wanted, tenant) = (id.clone(), owner(&id)?);
        let write = self.office.write(&tenant, async move |ctx: &Ctx, tx: &mut Tx| {
            oidc::complete_rotation(ctx, tx, &wanted).await
        });
        let certificate = write.await?.keys.active.certificate.fingerprint();
        let said =
            format!("Completed the rotation of {id}. Client assertions are signed with key {certificate}.");
        Ok(Report::new(json!({ "id": id, "phase": "COMPLETED", "certificate": certificate }), said))
    }

    async fn refresh(&self, id: ProviderId) -> Result<Report> {
        let (found, _) = self.provider(&id).await?;
        let issuer = found.metadata.issuer;
        let read = oidc_client::discover(&self.client()?, &issuer).await;
        let (wanted, tenant) = (id.clone(), owner(&id)?);
        let write = self.office.write(&tenant, async move |ctx: &Ctx, tx: &mut Tx| {
            oidc::refresh(ctx, tx, &wanted, &issuer, read).await
        });
        let refreshed = write.await?;
        if let Some(problem) = refreshed.problem {
            return Err(format!("{id}: {problem}").into());
        }
        let said = match refreshed.changed.as_slice() {
            [] => "Metadata and keys are unchanged".to_owned(),
            changed => format!("Changed: {}", changed.join(", ")),
        };
        Ok(Report::new(json!({ "id": id, "changed": refreshed.changed }), said))
    }
}
