//! `/api/settings/oidc-providers/{id}/rotate-key`: replaces this service's key for `private_key_jwt`.

use actix_web::post;
use kernel::Ctx;
use saml_sp::{ProviderError, ProviderId};
use sign_in::sso::{
    self,
    oidc::{self, OidcStore},
};
use store::Tx;

use super::{new_key, provider_answer, views::OidcProviderView};
use crate::api::{Answer, Call};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageConnections},
    step_up::{SsoProviderChange, StepUp},
};

/// Start rotating the key for private_key_jwt
///
/// Generates the next key. The key set at `relyingParty.jwksUri` lists both, and the previous one signs. Complete the
/// rotation once the provider knows the next key. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection, with both certificates.", body = OidcProviderView),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason ROTATION_UNDER_WAY."),
    )
)]
#[post("/api/settings/oidc-providers/{id}/rotate-key")]
pub(crate) async fn rotate_oidc_key(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
) -> Answer {
    let id: ProviderId = call.id()?;
    let wanted = id.clone();
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| tx.oidc_provider(&wanted).await).await?;
    // Check first: generating a key is expensive.
    if found.ok_or(ProviderError::NotFound)?.keys.next.is_some() {
        return Err(ProviderError::RotationUnderWay.into());
    }
    let key = new_key(&call, &id).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let rotated = oidc::start_rotation(ctx, tx, &id, key).await?;
        let tenant = sso::tenant_setup(tx).await?;
        Ok::<_, Problem>(rotated.map(|provider| (provider, tenant)).with(spending.events()?))
    };
    Ok(provider_answer(&call, &call.write(work).await?))
}

/// Complete the rotation of the key
///
/// The next key signs from now on, and the previous key is deleted. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection.", body = OidcProviderView),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason NO_ROTATION."),
    )
)]
#[post("/api/settings/oidc-providers/{id}/rotate-key/complete")]
pub(crate) async fn complete_oidc_key_rotation(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
) -> Answer {
    let id = call.id()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let rotated = oidc::complete_rotation(ctx, tx, &id).await?;
        let tenant = sso::tenant_setup(tx).await?;
        Ok::<_, Problem>(rotated.map(|provider| (provider, tenant)).with(spending.events()?))
    };
    Ok(provider_answer(&call, &call.write(work).await?))
}
