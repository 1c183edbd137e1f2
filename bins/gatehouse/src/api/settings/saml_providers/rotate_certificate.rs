//! `/api/settings/saml-providers/{id}/rotate-certificate`: this service's key for a provider is replaced.

use actix_web::{HttpResponse, post, web};
use audit::Audited;
use kernel::Ctx;
use saml_sp::{ProviderError, ProviderStore};
use store::Tx;

use super::{body::new_key, findings::ProviderContext, id_of, shown::ShownProvider};
use crate::{
    api::Site,
    events::{rotation_completed, rotation_started},
};
use gate::{
    access::Access,
    body::answer,
    errors::Problem,
    permissions::AdministerInPerson,
    step_up::{SsoProviderChange, StepUp},
};

/// Replace this service's certificate
///
/// Makes the next key. Both certificates stand in this service's metadata and both keys decrypt, while the one before
/// signs. Give the identity provider the new metadata, then complete the rotation. Needs a fresh proof
/// (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The provider, with both certificates.", body = ShownProvider),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT, reason ROTATION_UNDER_WAY."),
    )
)]
#[post("/api/settings/saml-providers/{id}/rotate-certificate")]
pub(crate) async fn rotate_saml_certificate(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    proof: StepUp<SsoProviderChange>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let wanted = id.clone();
    let found = access.read(async move |_: &Ctx, tx: &mut Tx| tx.provider(&wanted).await).await?;
    // A key that is for nothing is not made.
    if found.ok_or(ProviderError::NotFound)?.keys.next.is_some() {
        return Err(ProviderError::RotationUnderWay.into());
    }
    let key = new_key(&site, &access, &id).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        let around = ProviderContext::of(tx).await?;
        let provider = saml_sp::start_rotation(ctx, tx, &id, key).await?;
        let event = rotation_started(&provider);
        Ok::<_, Problem>(Audited::new((provider, around), event).with(spending.events()?))
    };
    let (provider, around) = access.write(work).await?;
    Ok(answer(&ShownProvider::of(&site.pipeline.base_url, &provider, &around, access.ctx().now)))
}

/// Complete a rotation
///
/// From now on the next key signs, and the one before is gone: what was encrypted for it cannot be read any more. Needs a
/// fresh proof (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The provider.", body = ShownProvider),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT, reason NO_ROTATION."),
    )
)]
#[post("/api/settings/saml-providers/{id}/rotate-certificate/complete")]
pub(crate) async fn complete_saml_rotation(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    proof: StepUp<SsoProviderChange>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        let around = ProviderContext::of(tx).await?;
        let provider = saml_sp::complete_rotation(ctx, tx, &id).await?;
        let event = rotation_completed(&provider);
        Ok::<_, Problem>(Audited::new((provider, around), event).with(spending.events()?))
    };
    let (provider, around) = access.write(work).await?;
    Ok(answer(&ShownProvider::of(&site.pipeline.base_url, &provider, &around, access.ctx().now)))
}
