//! The SSO connection of a URL, and this service's side of it.

use gate::{access::Visitor, errors::Problem};
use kernel::TenantId;
use saml_sp::{Provider, ProviderId, ProviderStore, ServiceProvider};
use store::Tx;

use crate::api::site::Site;

/// Returns the SSO connection with this ID and its tenant, or fails with 404.
pub(crate) async fn provider_of(visitor: &Visitor, id: &str) -> Result<(TenantId, Provider), Problem> {
    let id: ProviderId = id.parse().map_err(|_| Problem::not_found())?;
    let tenant = id.tenant().ok_or_else(Problem::not_found)?;
    let find = async move |tx: &mut Tx| Ok::<_, Problem>(tx.provider(&id).await?);
    let provider = visitor.read(&tenant, find).await?.ok_or_else(Problem::not_found)?;
    Ok((tenant, provider))
}

/// Returns this service's SAML settings for a connection.
pub(crate) fn service_of(site: &Site, id: &ProviderId) -> ServiceProvider {
    ServiceProvider::of(&site.pipeline.base_url, id)
}
