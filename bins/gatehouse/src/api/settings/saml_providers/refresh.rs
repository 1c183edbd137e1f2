//! `POST /api/settings/saml-providers/{id}/refresh`

use actix_web::post;
use credentials::attempts;
use kernel::Ctx;
use saml_sp::{ProviderId, ProviderStore, Source};
use sign_in::sso;
use store::Tx;

use super::{provider_answer, views::ProviderView};
use crate::{
    api::{Answer, Call},
    metadata,
};
use gate::{
    errors::{Code, Problem},
    permissions::{InPerson, ManageConnections},
};

/// Refresh SAML metadata
///
/// Fetches the provider's `metadataUrl` now instead of after six hours, and updates signing certificates and single
/// sign-on URL. If fetching fails or the metadata belongs to another provider, `metadata.error` says so and nothing
/// changes.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection, also if fetching failed.", body = ProviderView),
        (status = 409, description = "CONFLICT with reason NO_METADATA_URL."),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/saml-providers/{id}/refresh")]
pub(crate) async fn refresh_saml_provider(call: Call<InPerson<ManageConnections>>) -> Answer {
    let id: ProviderId = call.id()?;
    let wanted = id.clone();
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| tx.provider(&wanted).await).await?;
    let Source::MetadataUrl(url) = found.ok_or_else(Problem::not_found)?.source else {
        let problem = "this SSO connection has no metadataUrl; set one, or send newer metadataXml";
        return Err(Problem::new(Code::Conflict, problem).reason("NO_METADATA_URL"));
    };
    call.attempt(attempts::look_up(call.tenant())).await?;
    let read = call.without_slot(metadata::read(&call.site.webhooks.client, &url)).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let refreshed = sso::refresh(ctx, tx, &id, &url, read).await?;
        let tenant = sso::tenant_setup(tx).await?;
        Ok::<_, Problem>(refreshed.map(|refreshed| (refreshed.provider, tenant)))
    };
    Ok(provider_answer(&call, &call.write(work).await?))
}
