//! `POST /api/auth/sign-in/providers`: which identity provider an address, or a tenant, signs in through.

use actix_web::{HttpResponse, post, web};
use credentials::{SignInMode, SignInStore, attempts};
use kernel::TenantId;
use saml_sp::{EmailDomain, Provider, ProviderStore};
use serde::{Deserialize, Serialize};
use store::{Across, Tx};
use utoipa::ToSchema;

use crate::api::Site;
use gate::{
    access::Visitor,
    body::{Json, answer},
    errors::Problem,
};

/// Whose identity providers.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProvidersBody {
    /// An address: only its domain counts, and only if a tenant has proved that to be its own.
    email: Option<String>,
    /// The tenant's slug or id.
    tenant: Option<String>,
}

/// A way to sign in.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WayIn {
    name: String,
    /// Where it begins.
    #[schema(format = "uri")]
    login_url: String,
}

/// Ways to sign in.
#[derive(Serialize, ToSchema)]
struct WaysIn {
    providers: Vec<WayIn>,
}

/// Find the identity provider
///
/// Of an address, or all of a tenant. Says the same of every address of a domain: not who there is.
#[utoipa::path(
    tag = "Sign-in",
    security(()),
    responses(
        (status = 200, description = "None where passwords alone are taken.", body = WaysIn),
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
) -> Result<HttpResponse, Problem> {
    let ProvidersBody { email, tenant } = body.0;
    visitor.attempt(attempts::federated(&visitor.origin())).await?;
    let found = match (tenant, email) {
        (Some(name), _) => of_tenant(&visitor, name).await?,
        (None, Some(email)) => of_domain(&visitor, &email).await?,
        (None, None) => return Err(Problem::invalid_request("email: write it, or tenant")),
    };
    let way = |provider: Provider| WayIn {
        login_url: format!("{}/api/saml/{}/login", site.pipeline.base_url, provider.id),
        name: provider.name,
    };
    Ok(answer(&WaysIn { providers: found.into_iter().map(way).collect() }))
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

/// Those of a tenant that may be used.
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
