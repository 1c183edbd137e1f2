//! `/api/settings/saml-providers`: through whom people sign in.

pub(crate) mod body;
pub(crate) mod connection_tests;
pub(crate) mod findings;
pub(crate) mod refresh;
pub(crate) mod rotate_certificate;
pub(crate) mod shown;

use actix_web::{HttpResponse, delete, get, post, put, web};
use audit::{Audited, Event, events::saml::SamlProviderDeleted};
use credentials::SignInMode;
use kernel::Ctx;
use saml_sp::{MAX_PROVIDERS, New, Provider, ProviderError, ProviderId, ProviderStore};
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use self::{
    body::{ProviderBody, known, new_key, no_other_side},
    findings::ProviderContext,
    shown::ShownProvider,
};
use crate::{
    api::{Site, lockout::Lockout, me::factors::Deleted, openapi::values},
    events::{provider_changed, provider_created},
};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::Problem,
    permissions::{Administer, AdministerInPerson},
    step_up::{SsoProviderChange, StepUp},
};

/// The tenant's identity providers.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SamlProviderList {
    /// The oldest first.
    providers: Vec<ShownProvider>,
    /// `CREDENTIALS_ONLY`, `SSO_ALLOWED` or `SSO_REQUIRED`: of the sign-in policy.
    #[schema(value_type = values::SignInMode)]
    sign_in_mode: SignInMode,
}

/// The id in a path.
pub(crate) fn id_of(id: &str) -> Result<ProviderId, Problem> {
    id.parse().map_err(|_| Problem::not_found())
}

/// The provider of this id, and what it is seen beside.
pub(crate) async fn found(tx: &mut Tx, id: &ProviderId) -> Result<(Provider, ProviderContext), Problem> {
    let around = ProviderContext::of(tx).await?;
    let provider = tx.provider(id).await?.ok_or_else(Problem::not_found)?;
    Ok((provider, around))
}

/// List identity providers
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All of them.", body = SamlProviderList))
)]
#[get("/api/settings/saml-providers")]
pub(crate) async fn list_saml_providers(
    site: web::Data<Site>,
    access: Access<Administer>,
) -> Result<HttpResponse, Problem> {
    let work = async |_: &Ctx, tx: &mut Tx| {
        Ok::<_, Problem>((tx.providers().await?, ProviderContext::of(tx).await?))
    };
    let (found, around) = access.read(work).await?;
    let now = access.ctx().now;
    let providers =
        found.iter().map(|one| ShownProvider::of(&site.pipeline.base_url, one, &around, now)).collect();
    Ok(answer(&SamlProviderList { providers, sign_in_mode: around.mode }))
}

/// Add an identity provider
///
/// By its metadata, by the address of its metadata (read now and every six hours), or by its fields. It has to offer
/// HTTP-POST. Needs a fresh proof (`SSO_PROVIDER_CHANGE`). 20 at most.
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The provider, with what it has to know of this side.", body = ShownProvider),
        (status = 400, description = "A field is malformed, or the metadata cannot be read or used."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT: there are 20, or reason DOMAIN_TAKEN: another provider of the tenant has a domain."),
        (status = 429, description = "Metadata was read too often: RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/saml-providers")]
pub(crate) async fn create_saml_provider(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    proof: StepUp<SsoProviderChange>,
    body: Json<ProviderBody>,
) -> Result<HttpResponse, Problem> {
    let (change, given) = body.0.read()?;
    let change = change.checked()?;
    let given = given.ok_or_else(no_other_side)?;
    let known = known(&site, &access, given).await?;
    // Whoever may have no more need not wait for a key.
    if access.read(async |_: &Ctx, tx: &mut Tx| tx.count_providers().await).await? >= MAX_PROVIDERS {
        return Err(ProviderError::TooMany.into());
    }
    let id = ProviderId::new(access.env(), access.tenant());
    let key = new_key(&site, &access, &id).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        let made = saml_sp::create(ctx, tx, New { id, key, change, known }).await?;
        let (around, event) = (ProviderContext::of(tx).await?, provider_created(&made));
        Ok::<_, Problem>(Audited::new((made, around), event).with(spending.events()?))
    };
    let (made, around) = Box::pin(access.write(work)).await?;
    Ok(answer(&ShownProvider::of(&site.pipeline.base_url, &made, &around, access.ctx().now)))
}

/// Read an identity provider
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The provider.", body = ShownProvider),
    )
)]
#[get("/api/settings/saml-providers/{id}")]
pub(crate) async fn get_saml_provider(
    site: web::Data<Site>,
    access: Access<Administer>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let (provider, around) = access.read(async move |_: &Ctx, tx: &mut Tx| found(tx, &id).await).await?;
    Ok(answer(&ShownProvider::of(&site.pipeline.base_url, &provider, &around, access.ctx().now)))
}

/// Replace an identity provider
///
/// What is left out is as when one is added; but without metadata and without the fields of the other side, that side stays as it
/// was. This service's keys stay in any case. In force from the next request on. Needs a fresh proof (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The provider.", body = ShownProvider),
        (status = 400, description = "A field is malformed, or the metadata cannot be read or used."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT, reason DOMAIN_TAKEN: another provider of the tenant has a domain; LOCKOUT_PROTECTION: no administrator could sign in any more."),
        (status = 429, description = "Metadata was read too often: RATE_LIMITED, with header Retry-After."),
    )
)]
#[put("/api/settings/saml-providers/{id}")]
pub(crate) async fn put_saml_provider(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    proof: StepUp<SsoProviderChange>,
    id: web::Path<String>,
    body: Json<ProviderBody>,
) -> Result<HttpResponse, Problem> {
    let (change, given) = body.0.read()?;
    let (change, id) = (change.checked()?, id_of(&id)?);
    let known = match given {
        Some(given) => {
            // Metadata is fetched only for a provider that exists.
            let wanted = id.clone();
            let find = async move |_: &Ctx, tx: &mut Tx| tx.provider(&wanted).await;
            access.read(find).await?.ok_or_else(Problem::not_found)?;
            Some(known(&site, &access, given).await?)
        }
        None => None,
    };
    let place = site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        // Locked before the tenant, as a sign-in does.
        tx.provider(&id).await?;
        let lockout = Lockout::before(&place, ctx, tx).await?;
        let (provider, changed) = saml_sp::replace(ctx, tx, &id, change, known).await?;
        lockout.after(ctx, tx).await?;
        let (around, event) = (ProviderContext::of(tx).await?, provider_changed(&provider, &changed));
        let audited = Audited::of_changes((provider, around), event.into_iter().collect());
        Ok::<_, Problem>(audited.with(spending.events()?))
    };
    let (provider, around) = Box::pin(access.write(work)).await?;
    Ok(answer(&ShownProvider::of(&site.pipeline.base_url, &provider, &around, access.ctx().now)))
}

/// Remove an identity provider
///
/// Sessions that it began go on. Needs a fresh proof (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "It is gone.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "LOCKOUT_PROTECTION: no administrator could sign in any more."),
    )
)]
#[delete("/api/settings/saml-providers/{id}")]
pub(crate) async fn delete_saml_provider(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    proof: StepUp<SsoProviderChange>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        // Locked before the tenant, as a sign-in does.
        tx.provider(&id).await?;
        let lockout = Lockout::before(&site, ctx, tx).await?;
        let gone = saml_sp::remove(tx, &id).await?;
        lockout.after(ctx, tx).await?;
        let event = Event::new(id.as_str(), &SamlProviderDeleted { entity_id: gone.idp.entity_id });
        Ok::<_, Problem>(Audited::new((), event).with(spending.events()?))
    };
    access.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
