//! `/api/settings/saml-providers/{id}/rotate-certificate`: replaces this service's key of an SSO connection.

use actix_web::post;
use audit::Audited;
use kernel::Ctx;
use saml_sp::{ProviderError, ProviderId, ProviderStore};
use store::Tx;

use super::{body::new_key, findings::ProviderContext, shown::ShownProvider};
use crate::{
    api::{Answer, Call},
    events::{rotation_completed, rotation_started},
};
use gate::{
    body::answer,
    errors::Problem,
    permissions::AdministerInPerson,
    step_up::{SsoProviderChange, StepUp},
};

/// Start rotating the service provider's certificate
///
/// Generates the next key. The service provider metadata lists both certificates; both keys decrypt, and the previous
/// key signs. Import the new metadata at the identity provider, then complete the rotation. Requires a step-up
/// (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection, with both certificates.", body = ShownProvider),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason ROTATION_UNDER_WAY."),
    )
)]
#[post("/api/settings/saml-providers/{id}/rotate-certificate")]
pub(crate) async fn rotate_saml_certificate(
    call: Call<AdministerInPerson>,
    proof: StepUp<SsoProviderChange>,
) -> Answer {
    let id: ProviderId = call.id()?;
    let wanted = id.clone();
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| tx.provider(&wanted).await).await?;
    // Check first: generating a key is expensive.
    if found.ok_or(ProviderError::NotFound)?.keys.next.is_some() {
        return Err(ProviderError::RotationUnderWay.into());
    }
    let key = new_key(&call, &id).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let provider = saml_sp::start_rotation(ctx, tx, &id, key).await?;
        let (around, event) = (ProviderContext::of(tx).await?, rotation_started(&provider));
        Ok::<_, Problem>(Audited::new((provider, around), event).with(spending.events()?))
    };
    let (provider, around) = call.write(work).await?;
    Ok(answer(&ShownProvider::of(&call.site.pipeline.base_url, &provider, &around, call.ctx().now)))
}

/// Complete the rotation of the certificate
///
/// The next key signs from now on. The previous key is deleted; assertions encrypted for it can no longer be
/// decrypted. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection.", body = ShownProvider),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason NO_ROTATION."),
    )
)]
#[post("/api/settings/saml-providers/{id}/rotate-certificate/complete")]
pub(crate) async fn complete_saml_rotation(
    call: Call<AdministerInPerson>,
    proof: StepUp<SsoProviderChange>,
) -> Answer {
    let id = call.id()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let provider = saml_sp::complete_rotation(ctx, tx, &id).await?;
        let (around, event) = (ProviderContext::of(tx).await?, rotation_completed(&provider));
        Ok::<_, Problem>(Audited::new((provider, around), event).with(spending.events()?))
    };
    let (provider, around) = call.write(work).await?;
    Ok(answer(&ShownProvider::of(&call.site.pipeline.base_url, &provider, &around, call.ctx().now)))
}
