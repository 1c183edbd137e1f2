//! `/api/settings/saml-providers`: SSO connections.

pub(crate) mod body;
pub(crate) mod connection_tests;
pub(crate) mod refresh;
pub(crate) mod rotate_certificate;
pub(crate) mod views;

use actix_web::{HttpResponse, delete, get, post, put};
use credentials::{SignInMode, SignInStore};
use kernel::Ctx;
use saml_sp::{
    MAX_PROVIDERS, MetadataSource, New, Provider, ProviderError, ProviderId, ProviderStore, TenantSetup,
};
use serde::Serialize;
use sign_in::{Lockout, sso};
use store::Tx;
use utoipa::ToSchema;

use self::{
    body::{ProviderBody, known, new_key},
    views::ProviderView,
};
use crate::api::{Answer, Call, me::factors::Deleted};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{InPerson, ManageConnections, Permission},
    step_up::{SsoProviderChange, StepUp},
};

/// The SSO connections of the tenant.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SamlProviderList {
    /// Oldest first.
    providers: Vec<ProviderView>,
    /// `CREDENTIALS_ONLY`, `SSO_ALLOWED` or `SSO_REQUIRED`: of the sign-in policy.
    #[schema(value_type = credentials::SignInMode)]
    sign_in_mode: SignInMode,
}

/// Returns the SSO connection with this ID, and the settings that its checks depend on.
pub(crate) async fn found(tx: &mut Tx, id: &ProviderId) -> Result<(Provider, TenantSetup), Problem> {
    let provider = tx.provider(id).await?.ok_or_else(Problem::not_found)?;
    let tenant = sso::tenant_setup(tx).await?;
    Ok((provider, tenant))
}

/// Responds with an SSO connection.
fn provider_answer<P: Permission>(
    call: &Call<P>,
    (provider, tenant): &(Provider, TenantSetup),
) -> HttpResponse {
    answer(&ProviderView::of(&call.site.pipeline.base_url, provider, tenant, call.ctx().now))
}

/// List SSO connections
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All SSO connections of the tenant.", body = SamlProviderList))
)]
#[get("/api/settings/saml-providers")]
pub(crate) async fn list_saml_providers(call: Call<ManageConnections>) -> Answer {
    Ok(answer(&provider_list(&call).await?))
}

/// Returns the SSO connections of the tenant.
pub(crate) async fn provider_list<P: Permission>(call: &Call<P>) -> Result<SamlProviderList, Problem> {
    let work = async |_: &Ctx, tx: &mut Tx| {
        let (providers, sign_in_mode) = (tx.providers().await?, tx.sign_in_policy().await?.sign_in_mode);
        Ok::<_, Problem>((providers, sign_in_mode, sso::tenant_setup_under(sign_in_mode, tx).await?))
    };
    let (found, sign_in_mode, tenant) = call.read(work).await?;
    let (base_url, now) = (&call.site.pipeline.base_url, call.ctx().now);
    let providers = found.iter().map(|one| ProviderView::of(base_url, one, &tenant, now)).collect();
    Ok(SamlProviderList { providers, sign_in_mode })
}

/// Add an SSO connection
///
/// Takes metadata, the URL of metadata (fetched now and every six hours), or fields. Requires a step-up (`SSO_PROVIDER_CHANGE`). A tenant has at most 20 SSO connections.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection, with the values to enter at the identity provider.", body = ProviderView),
        (status = 400, description = "A field is malformed, or the metadata cannot be fetched or used."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT: the tenant has 20 SSO connections; with reason DOMAIN_TAKEN: another SSO connection has a domain."),
        (status = 429, description = "RATE_LIMITED: metadata was fetched too often. Header Retry-After."),
    )
)]
#[post("/api/settings/saml-providers")]
pub(crate) async fn create_saml_provider(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
    body: Json<ProviderBody>,
) -> Answer {
    let (change, given) = body.0.read()?;
    let change = change.checked()?;
    let known = known(&call, MetadataSource::required(given)?).await?;
    // Check the limit first: generating a key is expensive.
    if call.read(async |_: &Ctx, tx: &mut Tx| tx.count_providers().await).await? >= MAX_PROVIDERS {
        return Err(ProviderError::TooMany.into());
    }
    let id = ProviderId::new(call.env(), call.tenant());
    let key = new_key(&call, &id).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let created = sso::create(ctx, tx, New { id, key, change, known }).await?;
        let tenant = sso::tenant_setup(tx).await?;
        Ok::<_, Problem>(created.map(|provider| (provider, tenant)).with(spending.events()?))
    };
    Ok(provider_answer(&call, &Box::pin(call.write(work)).await?))
}

/// Get an SSO connection
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The SSO connection.", body = ProviderView))
)]
#[get("/api/settings/saml-providers/{id}")]
pub(crate) async fn get_saml_provider(call: Call<ManageConnections>) -> Answer {
    let id = call.id()?;
    Ok(provider_answer(&call, &call.read(async move |_: &Ctx, tx: &mut Tx| found(tx, &id).await).await?))
}

/// Replace an SSO connection
///
/// Omitted fields get their defaults. Without metadata and without the identity provider's fields, those values stay.
/// The keys of the service provider always stay. Takes effect with the next request. Requires a step-up
/// (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection.", body = ProviderView),
        (status = 400, description = "A field is malformed, or the metadata cannot be fetched or used."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason DOMAIN_TAKEN: another SSO connection has a domain; LOCKOUT_PROTECTION if no administrator could sign in afterwards."),
        (status = 429, description = "RATE_LIMITED: metadata was fetched too often. Header Retry-After."),
    )
)]
#[put("/api/settings/saml-providers/{id}")]
pub(crate) async fn put_saml_provider(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
    body: Json<ProviderBody>,
) -> Answer {
    let (change, given) = body.0.read()?;
    let (change, id) = (change.checked()?, call.id::<ProviderId>()?);
    let known = match given {
        Some(given) => {
            // Fetch metadata only if the SSO connection exists.
            let wanted = id.clone();
            let find = async move |_: &Ctx, tx: &mut Tx| tx.provider(&wanted).await;
            call.read(find).await?.ok_or_else(Problem::not_found)?;
            Some(known(&call, given).await?)
        }
        None => None,
    };
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        // Lock the connection before the tenant, as a sign-in does.
        tx.provider(&id).await?;
        let lockout = Lockout::before(tx, site.auth.passkeys_work(), ctx.now).await?;
        let replaced = sso::replace(ctx, tx, &id, change, known).await?;
        lockout.after(tx, ctx.now).await?;
        let tenant = sso::tenant_setup(tx).await?;
        Ok::<_, Problem>(replaced.map(|provider| (provider, tenant)).with(spending.events()?))
    };
    Ok(provider_answer(&call, &Box::pin(call.write(work)).await?))
}

/// Remove an SSO connection
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
#[delete("/api/settings/saml-providers/{id}")]
pub(crate) async fn delete_saml_provider(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
) -> Answer {
    let (id, site) = (call.id()?, call.site.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        // Lock the connection before the tenant, as a sign-in does.
        tx.provider(&id).await?;
        let lockout = Lockout::before(tx, site.auth.passkeys_work(), ctx.now).await?;
        let removed = sso::remove(ctx, tx, &id).await?;
        lockout.after(tx, ctx.now).await?;
        Ok::<_, Problem>(removed.with(spending.events()?))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
