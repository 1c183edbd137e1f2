//! `/api/settings/oidc-providers`: SSO connections with OpenID Connect.

pub(crate) mod body;
pub(crate) mod connection_tests;
pub(crate) mod refresh;
pub(crate) mod rotate_key;
pub(crate) mod views;

use actix_web::{HttpResponse, delete, get, post, put};
use credentials::{SignInMode, SignInStore};
use kernel::Ctx;
use saml_sp::{MAX_PROVIDERS, Protocol, ProviderError, ProviderId, ProviderStore, SealedKey, TenantSetup};
use serde::Serialize;
use sign_in::{
    Lockout,
    sso::{
        self,
        oidc::{self, NewOidcProvider, OidcProvider, OidcReplacement, OidcStore},
    },
};
use store::Tx;
use utoipa::ToSchema;

use self::{
    body::{OidcProviderBody, discover, is_stored, seal},
    views::OidcProviderView,
};
use crate::api::{Answer, Call, me::factors::Deleted, oidc::relying_party};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{InPerson, ManageConnections, Permission},
    step_up::{SsoProviderChange, StepUp},
};

/// The SSO connections of the tenant with OpenID Connect.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OidcProviderList {
    /// Oldest first.
    providers: Vec<OidcProviderView>,
    /// `CREDENTIALS_ONLY`, `SSO_ALLOWED` or `SSO_REQUIRED`: of the sign-in policy.
    #[schema(value_type = credentials::SignInMode)]
    sign_in_mode: SignInMode,
}

/// Returns the SSO connection with this ID, and the settings that its checks depend on.
pub(crate) async fn oidc_found(tx: &mut Tx, id: &ProviderId) -> Result<(OidcProvider, TenantSetup), Problem> {
    let provider = tx.oidc_provider(id).await?.ok_or_else(Problem::not_found)?;
    let tenant = sso::tenant_setup(tx).await?;
    Ok((provider, tenant))
}

/// Responds with an SSO connection.
fn provider_answer<P: Permission>(
    call: &Call<P>,
    (provider, tenant): &(OidcProvider, TenantSetup),
) -> HttpResponse {
    answer(&OidcProviderView::of(&call.site.pipeline.base_url, provider, tenant, call.ctx().now))
}

/// List SSO connections with OpenID Connect
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All OpenID Connect connections of the tenant.", body = OidcProviderList))
)]
#[get("/api/settings/oidc-providers")]
pub(crate) async fn list_oidc_providers(call: Call<ManageConnections>) -> Answer {
    Ok(answer(&oidc_provider_list(&call).await?))
}

/// Returns the SSO connections of the tenant with OpenID Connect.
pub(crate) async fn oidc_provider_list<P: Permission>(call: &Call<P>) -> Result<OidcProviderList, Problem> {
    let work = async |_: &Ctx, tx: &mut Tx| {
        let (providers, sign_in_mode) = (tx.oidc_providers().await?, tx.sign_in_policy().await?.sign_in_mode);
        Ok::<_, Problem>((providers, sign_in_mode, sso::tenant_setup_under(sign_in_mode, tx).await?))
    };
    let (found, sign_in_mode, tenant) = call.read(work).await?;
    let (base_url, now) = (&call.site.pipeline.base_url, call.ctx().now);
    let providers = found.iter().map(|one| OidcProviderView::of(base_url, one, &tenant, now)).collect();
    Ok(OidcProviderList { providers, sign_in_mode })
}

/// Generates a key for an SSO connection, outside of the request threads.
async fn new_key(call: &Call<InPerson<ManageConnections>>, id: &ProviderId) -> Result<SealedKey, Problem> {
    let (seal, url) = (call.site.pipeline.keys.saml(), relying_party(&call.site, id).redirect_uri);
    let (id, now) = (id.clone(), call.ctx().now);
    let work = move || SealedKey::generate(&seal, &id, &url, now);
    call.without_slot(call.site.saml.compute(work)).await??.map_err(Problem::unexpected)
}

/// Add an SSO connection with OpenID Connect
///
/// Reads the provider's metadata and keys from the issuer, now and every six hours. Requires a step-up
/// (`SSO_PROVIDER_CHANGE`). A tenant has at most 20 SSO connections of both protocols.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection, with the values to enter at the provider.", body = OidcProviderView),
        (status = 400, description = "A field is malformed, or the provider's metadata cannot be read or used."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT: the tenant has 20 SSO connections; with reason DOMAIN_TAKEN: another SSO connection has a domain."),
        (status = 429, description = "RATE_LIMITED: metadata was read too often. Header Retry-After."),
    )
)]
#[post("/api/settings/oidc-providers")]
pub(crate) async fn create_oidc_provider(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
    body: Json<OidcProviderBody>,
) -> Answer {
    let (change, secret) = body.0.read()?;
    let change = change.checked()?;
    let discovered = discover(&call, change.issuer()).await?;
    // Check the limit first: generating a key is expensive.
    if call.read(async |_: &Ctx, tx: &mut Tx| tx.count_providers().await).await? >= MAX_PROVIDERS {
        return Err(ProviderError::TooMany.into());
    }
    let id = ProviderId::of(Protocol::Oidc, call.env(), call.tenant());
    let (key, secret) = (new_key(&call, &id).await?, seal(&call, &id, secret)?);
    let new = NewOidcProvider { id, key, secret, change, discovered };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let created = oidc::create(ctx, tx, new).await?;
        let tenant = sso::tenant_setup(tx).await?;
        Ok::<_, Problem>(created.map(|provider| (provider, tenant)).with(spending.events()?))
    };
    Ok(provider_answer(&call, &Box::pin(call.write(work)).await?))
}

/// Get an SSO connection with OpenID Connect
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The SSO connection.", body = OidcProviderView))
)]
#[get("/api/settings/oidc-providers/{id}")]
pub(crate) async fn get_oidc_provider(call: Call<ManageConnections>) -> Answer {
    let id = call.id()?;
    let find = async move |_: &Ctx, tx: &mut Tx| oidc_found(tx, &id).await;
    Ok(provider_answer(&call, &call.read(find).await?))
}

/// Replace an SSO connection with OpenID Connect
///
/// Omitted fields get their defaults, but an omitted client secret stays. If issuer or client ID change, the connection gets a
/// new key, needs a new client secret, and its pinned subjects are removed. Takes effect with the next request. Requires a
/// step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection.", body = OidcProviderView),
        (status = 400, description = "A field is malformed, or the provider's metadata cannot be read or used."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason DOMAIN_TAKEN: another SSO connection has a domain; LOCKOUT_PROTECTION if no administrator could sign in afterwards."),
        (status = 429, description = "RATE_LIMITED: metadata was read too often. Header Retry-After."),
    )
)]
#[put("/api/settings/oidc-providers/{id}")]
pub(crate) async fn put_oidc_provider(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
    body: Json<OidcProviderBody>,
) -> Answer {
    let (change, secret) = body.0.read()?;
    let (change, id) = (change.checked()?, call.id::<ProviderId>()?);
    let wanted = id.clone();
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| tx.oidc_provider(&wanted).await).await?;
    let found = found.ok_or_else(Problem::not_found)?;
    let is_same = found.metadata.issuer == change.issuer();
    let discovered = if is_same { None } else { Some(discover(&call, change.issuer()).await?) };
    let is_other = found.is_other_client(&change);
    let key = if is_other { Some(new_key(&call, &id).await?) } else { None };
    let secret = secret.filter(|secret| is_other || !is_stored(&call, &found, secret));
    let (secret, site) = (seal(&call, &id, secret)?, call.site.clone());
    let new = OidcReplacement { change, secret, discovered, key };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        // Lock the connection before the tenant, as all changes do.
        tx.oidc_provider(&id).await?;
        let lockout = Lockout::before(tx, site.auth.passkeys_work(), ctx.now).await?;
        let replaced = oidc::replace(ctx, tx, &id, new).await?;
        lockout.after(tx, ctx.now).await?;
        let tenant = sso::tenant_setup(tx).await?;
        Ok::<_, Problem>(replaced.map(|provider| (provider, tenant)).with(spending.events()?))
    };
    Ok(provider_answer(&call, &Box::pin(call.write(work)).await?))
}

/// Remove an SSO connection with OpenID Connect
///
/// Sessions that it started continue. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "Deleted.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "LOCKOUT_PROTECTION: no administrator could sign in afterwards."),
    )
)]
#[delete("/api/settings/oidc-providers/{id}")]
pub(crate) async fn delete_oidc_provider(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
) -> Answer {
    let (id, site) = (call.id()?, call.site.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        // Lock the connection before the tenant, as all changes do.
        tx.oidc_provider(&id).await?;
        let lockout = Lockout::before(tx, site.auth.passkeys_work(), ctx.now).await?;
        let removed = oidc::remove(ctx, tx, &id).await?;
        lockout.after(tx, ctx.now).await?;
        Ok::<_, Problem>(removed.with(spending.events()?))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
