//! The OpenID provider of a URL, and our URLs at it.

use gate::{access::Visitor, errors::Problem};
use kernel::TenantId;
use saml_sp::ProviderId;
use sign_in::sso::oidc::{OidcProvider, OidcStore, RelyingParty};
use store::Tx;

use crate::api::site::Site;

/// Returns the SSO connection with this ID and its tenant, or fails with 404.
pub(super) async fn provider_of(visitor: &Visitor, id: &str) -> Result<(TenantId, OidcProvider), Problem> {
    let id: ProviderId = id.parse().map_err(|_| Problem::not_found())?;
    let tenant = id.tenant().ok_or_else(Problem::not_found)?;
    let find = async move |tx: &mut Tx| Ok::<_, Problem>(tx.oidc_provider(&id).await?);
    let provider = visitor.read(&tenant, find).await?.ok_or_else(Problem::not_found)?;
    Ok((tenant, provider))
}

/// Returns our URLs at a provider.
pub(crate) fn relying_party(site: &Site, id: &ProviderId) -> RelyingParty {
    RelyingParty::of(&site.pipeline.base_url, id)
}
