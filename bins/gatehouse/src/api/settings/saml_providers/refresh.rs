//! `POST /api/settings/saml-providers/{id}/refresh`

use actix_web::{HttpResponse, post, web};
use audit::Audited;
use credentials::attempts;
use kernel::Ctx;
use saml_sp::{ProviderStore, Source};
use store::Tx;

use super::{findings::ProviderContext, id_of, shown::ShownProvider};
use crate::{api::Site, events::provider_changed, metadata};
use gate::{
    access::Access,
    body::answer,
    errors::{Code, Problem},
    permissions::AdministerInPerson,
};

/// Read metadata now
///
/// At the provider's `metadataUrl`, as is done every six hours. Signing certificates and the address of the single sign-on service
/// become what it says. Where it cannot be read, or is of another provider, `metadata.error` says so and all stays as it was.
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The provider, whatever came of it.", body = ShownProvider),
        (status = 409, description = "CONFLICT, reason NO_METADATA_URL."),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/saml-providers/{id}/refresh")]
pub(crate) async fn refresh_saml_provider(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&id)?;
    let wanted = id.clone();
    let found = access.read(async move |_: &Ctx, tx: &mut Tx| tx.provider(&wanted).await).await?;
    let Source::MetadataUrl(url) = found.ok_or_else(Problem::not_found)?.source else {
        let problem =
            "this provider's metadata has no address; set metadataUrl, or hand in newer metadataXml";
        return Err(Problem::new(Code::Conflict, problem).reason("NO_METADATA_URL"));
    };
    access.attempt(attempts::look_up(access.tenant())).await?;
    let read = access.aside(metadata::read(&site.webhooks.client, &url)).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let around = ProviderContext::of(tx).await?;
        let refreshed = saml_sp::refreshed(ctx, tx, &id, &url, read).await?;
        let event = provider_changed(&refreshed.provider, &refreshed.changed);
        Ok::<_, Problem>(Audited::of_changes((refreshed.provider, around), event.into_iter().collect()))
    };
    let (provider, around) = access.write(work).await?;
    Ok(answer(&ShownProvider::of(&site.pipeline.base_url, &provider, &around, access.ctx().now)))
}
