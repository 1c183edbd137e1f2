//! `POST /api/auth/sign-in/providers`: finds the SSO connections of an email address or a tenant.

use actix_web::{post, web};
use credentials::{SignInMode, SignInStore, attempts};
use kernel::TenantId;
use saml_sp::{EmailDomain, Provider, ProviderStore};
use serde::{Deserialize, Serialize};
use store::{Across, Tx};
use utoipa::ToSchema;

use crate::api::{Answer, Site};
use gate::{
    access::Visitor,
    body::{Json, answer},
    errors::Problem,
};

/// Whose SSO connections to find.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProvidersBody {
    /// Email address. Only its domain is used, and only if a tenant verified it.
    email: Option<String>,
    /// Slug or ID of the tenant.
    tenant: Option<String>,
}

/// An SSO connection.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WayIn)]
struct SsoChoice {
    name: String,
    /// URL that starts the sign-in.
    #[schema(format = "uri")]
    login_url: String,
}

/// SSO connections to sign in with.
#[derive(Serialize, ToSchema)]
#[schema(as = WaysIn)]
struct SsoChoices {
    providers: Vec<SsoChoice>,
}

/// Find SSO connections
///
/// Returns the SSO connections for an email address, or all SSO connections of a tenant. The response depends only
/// on the domain of the address, so it does not reveal which users exist.
#[utoipa::path(
    security(()),
    responses(
        (status = 200, description = "The SSO connections; empty if the tenant accepts only passwords.", body = SsoChoices),
        (status = 400, description = "A field is malformed."),
        (status = 403, description = "CROSS_SITE."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/sign-in/providers")]
pub(crate) async fn sign_in_providers(
    site: web::Data<Site>,
    visitor: Visitor,
    body: Json<ProvidersBody>,
) -> Answer {
    let ProvidersBody { email, tenant } = body.0;
    visitor.attempt(attempts::federated(&visitor.origin())).await?;
    let found = match (tenant, email) {
        (Some(name), _) => of_tenant(&visitor, name).await?,
        (None, Some(email)) => of_domain(&visitor, &email).await?,
        (None, None) => return Err(Problem::invalid_request("email: send email or tenant")),
    };
    let way = |provider: Provider| SsoChoice {
        login_url: format!("{}/api/saml/{}/login", site.pipeline.base_url, provider.id),
        name: provider.name,
    };
    Ok(answer(&SsoChoices { providers: found.into_iter().map(way).collect() }))
}

async fn of_tenant(visitor: &Visitor, name: String) -> Result<Vec<Provider>, Problem> {
    let find = async move |across: &mut Across| across.tenant_named(&name).await;
    match visitor.across(find).await? {
        Some(tenant) => open_ones(visitor, &tenant.id, |_| true).await,
        None => Ok(Vec::new()),
    }
}

async fn of_domain(visitor: &Visitor, email: &str) -> Result<Vec<Provider>, Problem> {
    let Some(domain) = EmailDomain::of(email.trim()) else { return Ok(Vec::new()) };
    let find = async move |across: &mut Across| across.provider_for_domain(&domain).await;
    match visitor.across(find).await? {
        Some((tenant, id)) => open_ones(visitor, &tenant, move |provider| provider.id == id).await,
        None => Ok(Vec::new()),
    }
}

/// Returns the tenant's matching SSO connections that can be used for sign-in.
async fn open_ones(
    visitor: &Visitor,
    tenant: &TenantId,
    wanted: impl Fn(&Provider) -> bool + Send + 'static,
) -> Result<Vec<Provider>, Problem> {
    let find = async move |tx: &mut Tx| {
        if tx.sign_in_policy().await?.sign_in_mode == SignInMode::CredentialsOnly {
            return Ok::<_, Problem>(Vec::new());
        }
        let mut providers = tx.providers().await?;
        providers.retain(|provider| wanted(provider));
        Ok(providers)
    };
    visitor.read(tenant, find).await
}
