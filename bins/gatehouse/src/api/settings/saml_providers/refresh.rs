//! `POST /api/settings/saml-providers/{id}/refresh`

use actix_web::post;
use audit::Audited;
use credentials::attempts;
use kernel::Ctx;
use saml_sp::{ProviderId, ProviderStore, Source};
use store::Tx;

use super::{findings::ProviderContext, shown::ShownProvider};
use crate::api::{Answer, Call};
use crate::{events::provider_changed, metadata};
use gate::{
    body::answer,
    errors::{Code, Problem},
    permissions::AdministerInPerson,
};

/// Refresh SAML metadata
///
/// Fetches the provider's `metadataUrl` now instead of after six hours, and updates signing certificates and single
/// sign-on URL. If fetching fails or the metadata belongs to another provider, `metadata.error` says so and nothing
/// changes.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The SSO connection, also if fetching failed.", body = ShownProvider),
        (status = 409, description = "CONFLICT with reason NO_METADATA_URL."),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/saml-providers/{id}/refresh")]
pub(crate) async fn refresh_saml_provider(call: Call<AdministerInPerson>) -> Answer {
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
        let refreshed = saml_sp::refreshed(ctx, tx, &id, &url, read).await?;
        let event = provider_changed(&refreshed.provider, &refreshed.changed);
        let around = ProviderContext::of(tx).await?;
        Ok::<_, Problem>(Audited::of_changes((refreshed.provider, around), event.into_iter().collect()))
    };
    let (provider, around) = call.write(work).await?;
    Ok(answer(&ShownProvider::of(&call.site.pipeline.base_url, &provider, &around, call.ctx().now)))
}
