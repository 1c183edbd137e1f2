//! `POST /api/settings/oidc-providers/{id}/refresh`

use actix_web::post;
use credentials::attempts;
use kernel::Ctx;
use saml_sp::ProviderId;
use sign_in::sso::{
    self,
    oidc::{self, OidcStore},
};
use store::Tx;

use super::{provider_answer, views::OidcProviderView};
use crate::{
    api::{Answer, Call},
    oidc_client,
};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageConnections},
};

/// Refresh metadata and keys of an OpenID provider
///
/// Reads them now instead of after six hours. If that fails or the metadata is of another issuer, `metadata.error` says so
/// and nothing changes.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection, also if reading failed.", body = OidcProviderView),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/oidc-providers/{id}/refresh")]
pub(crate) async fn refresh_oidc_provider(call: Call<InPerson<ManageConnections>>) -> Answer {
    let id: ProviderId = call.id()?;
    let wanted = id.clone();
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| tx.oidc_provider(&wanted).await).await?;
    let issuer = found.ok_or_else(Problem::not_found)?.metadata.issuer;
    call.attempt(attempts::look_up(call.tenant())).await?;
    let read = call.without_slot(oidc_client::discover(&call.site.webhooks.client, &issuer)).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let refreshed = oidc::refresh(ctx, tx, &id, &issuer, read).await?;
        let tenant = sso::tenant_setup(tx).await?;
        Ok::<_, Problem>(refreshed.map(|refreshed| (refreshed.provider, tenant)))
    };
    Ok(provider_answer(&call, &call.write(work).await?))
}
