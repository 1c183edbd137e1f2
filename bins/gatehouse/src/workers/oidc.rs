//! Reads metadata and keys of OpenID providers every six hours.

use audit::{Audited, Unaudited};
use futures_util::{StreamExt, stream};
use kernel::{Ctx, StoreError, StoreResult, TenantId};
use saml_sp::{ProviderError, ProviderId};
use sign_in::sso::oidc::{OidcRefresh, refresh};
use store::{Across, Tx};
use webhooks::client::Client;

use super::saml::{AT_ONCE, BESIDE, LEASE, ROUNDS, SamlWorker, log_problem};
use crate::{area_metrics, oidc_client};

impl SamlWorker {
    /// Refreshes all OpenID providers that are due.
    pub(super) async fn refresh_oidc(&self, client: &Client) -> StoreResult<()> {
        for _ in 0..ROUNDS {
            let now = self.env.now();
            let look = async move |across: &mut Across| across.oidc_due(now, AT_ONCE).await;
            let due = self.store.across(look).await?;
            if due.is_empty() {
                break;
            }
            let each = async |(tenant, id): (TenantId, ProviderId)| {
                let done = self.refresh_one_oidc(client, &tenant, &id).await;
                // A failure of one SSO connection must not stop the others.
                log_problem("an SSO connection could not be refreshed", done);
            };
            stream::iter(due).for_each_concurrent(BESIDE, each).await;
        }
        Ok(())
    }

    async fn refresh_one_oidc(&self, client: &Client, tenant: &TenantId, id: &ProviderId) -> StoreResult<()> {
        let wanted = id.clone();
        let take = async move |ctx: &Ctx, tx: &mut Tx| {
            let taken = tx.take_due_oidc_provider(&wanted, ctx.now, ctx.now.plus_millis(LEASE)).await?;
            Ok::<_, StoreError>(Audited::without(taken, Unaudited::LookedAfter))
        };
        let Some(provider) = self.store.write(self.ctx(tenant), take).await? else { return Ok(()) };
        let issuer = provider.metadata.issuer;
        let read = oidc_client::discover(client, &issuer).await;
        let wanted = id.clone();
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            match refresh(ctx, tx, &wanted, &issuer, read).await {
                Ok(refreshed) => Ok(refreshed.map(Some)),
                Err(ProviderError::Store(error)) => Err(error),
                // The SSO connection was removed meanwhile.
                Err(_) => Ok(Audited::without(None, Unaudited::NothingChanged)),
            }
        };
        if let Some(refreshed) = self.store.write::<_, StoreError>(self.ctx(tenant), work).await? {
            note(tenant.as_str(), &refreshed);
        }
        Ok(())
    }
}

/// Counts a refresh, and logs it.
fn note(tenant: &str, refreshed: &OidcRefresh) {
    let provider = refreshed.provider.id.as_str();
    match &refreshed.problem {
        Some(problem) => {
            area_metrics::oidc_read("failed");
            tracing::warn!(tenant, provider, problem, "metadata of an SSO connection could not be refreshed");
        }
        None if refreshed.changed.is_empty() => {
            area_metrics::oidc_read("unchanged");
            tracing::debug!(tenant, provider, "metadata of an SSO connection is unchanged");
        }
        None => {
            area_metrics::oidc_read("changed");
            let changed = refreshed.changed.join(", ");
            tracing::info!(tenant, provider, changed, "metadata of an SSO connection has changed");
        }
    }
}
