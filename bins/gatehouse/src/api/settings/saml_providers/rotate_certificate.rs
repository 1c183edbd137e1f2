//! `/api/settings/saml-providers/{id}/rotate-certificate`: replaces this service's key of an SSO connection.

use actix_web::post;
use kernel::Ctx;
use saml_sp::{ProviderError, ProviderId, ProviderStore};
use sign_in::sso;
use store::Tx;

use super::{body::new_key, provider_answer, views::ProviderView};
use crate::api::{Answer, Call};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageConnections},
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
        (status = 200, description = "The SSO connection, with both certificates.", body = ProviderView),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason ROTATION_UNDER_WAY."),
    )
)]
#[post("/api/settings/saml-providers/{id}/rotate-certificate")]
pub(crate) async fn rotate_saml_certificate(
    call: Call<InPerson<ManageConnections>>,
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
        let rotated = sso::start_rotation(ctx, tx, &id, key).await?;
        let tenant = sso::tenant_setup(tx).await?;
        Ok::<_, Problem>(rotated.map(|provider| (provider, tenant)).with(spending.events()?))
    };
    Ok(provider_answer(&call, &call.write(work).await?))
}

/// Complete the rotation of the certificate
///
/// The next key signs from now on. The previous key is deleted; assertions encrypted for it can no longer be
/// decrypted. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection.", body = ProviderView),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason NO_ROTATION."),
    )
)]
#[post("/api/settings/saml-providers/{id}/rotate-certificate/complete")]
pub(crate) async fn complete_saml_rotation(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
) -> Answer {
    let id = call.id()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let rotated = sso::complete_rotation(ctx, tx, &id).await?;
        let tenant = sso::tenant_setup(tx).await?;
        Ok::<_, Problem>(rotated.map(|provider| (provider, tenant)).with(spending.events()?))
    };
    Ok(provider_answer(&call, &call.write(work).await?))
}
