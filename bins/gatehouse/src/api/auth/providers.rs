//! `POST /api/auth/sign-in/providers`: finds the SSO connections of an email address or a tenant.

use actix_web::{post, web};
use credentials::{SignInMode, SignInStore, attempts};
use kernel::TenantId;
use saml_sp::{EmailDomain, Protocol, ProviderId, ProviderStore};
use serde::{Deserialize, Serialize};
use sign_in::sso::oidc::OidcStore;
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
    let choice = |(id, name): (ProviderId, String)| {
        let area = match id.protocol() {
            Protocol::Saml => "saml",
            Protocol::Oidc => "oidc",
        };
        SsoChoice { login_url: format!("{}/api/{area}/{id}/login", site.pipeline.base_url), name }
    };
    Ok(answer(&SsoChoices { providers: found.into_iter().map(choice).collect() }))
}

/// IDs and names of SSO connections.
type Found = Vec<(ProviderId, String)>;

async fn of_tenant(visitor: &Visitor, name: String) -> Result<Found, Problem> {
    let find = async move |across: &mut Across| across.tenant_named(&name).await;
    match visitor.across(find).await? {
        Some(tenant) => open_ones(visitor, &tenant.id, |_| true).await,
        None => Ok(Vec::new()),
    }
}

async fn of_domain(visitor: &Visitor, email: &str) -> Result<Found, Problem> {
    let Some(domain) = EmailDomain::of(email.trim()) else { return Ok(Vec::new()) };
    let find = async move |across: &mut Across| across.provider_for_domain(&domain).await;
    match visitor.across(find).await? {
        Some((tenant, id)) => open_ones(visitor, &tenant, move |found| *found == id).await,
        None => Ok(Vec::new()),
    }
}

/// Returns the tenant's matching SSO connections that can be used for sign-in.
async fn open_ones(
    visitor: &Visitor,
    tenant: &TenantId,
    wanted: impl Fn(&ProviderId) -> bool + Send + 'static,
) -> Result<Found, Problem> {
    let find = async move |tx: &mut Tx| {
        if tx.sign_in_policy().await?.sign_in_mode == SignInMode::CredentialsOnly {
            return Ok::<_, Problem>(Vec::new());
        }
        let saml = tx.providers().await?.into_iter().map(|provider| (provider.id, provider.name));
        let mut found: Found = saml.collect();
        found.extend(tx.oidc_providers().await?.into_iter().map(|provider| (provider.id, provider.name)));
        found.retain(|(id, _)| wanted(id));
        Ok(found)
    };
    visitor.read(tenant, find).await
}
