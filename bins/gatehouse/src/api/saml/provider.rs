//! The SSO connection of a URL, and this service's side of it.

use audit::{Audited, Unaudited};
use gate::{access::Visitor, errors::Problem};
use kernel::{Actor, Ctx, TenantId};
use saml_sp::{Provider, ProviderId, ProviderStore, Refusal, ServiceProvider};
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

/// Schedules an early metadata refresh if the identity provider may have a new key.
pub(super) async fn refresh_metadata_early(
    visitor: &Visitor,
    tenant: &TenantId,
    provider: &Provider,
    refusal: &Refusal,
) {
    // Many refused messages schedule one refresh: skip the write if it is already scheduled.
    if !refusal.may_be_new_key() || provider.early_refresh_at(visitor.env().now()).is_none() {
        return;
    }
    let id = provider.id.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        saml_sp::schedule_early_refresh(ctx, tx, &id).await?;
        Ok::<_, Problem>(Audited::without((), Unaudited::NothingChanged))
    };
    if let Err(problem) = visitor.write_as(tenant, Actor::system("saml"), work).await {
        tracing::warn!(%problem, "an early metadata refresh could not be scheduled");
    }
}
