//! Periodic jobs for SSO connections: refresh metadata (that of OpenID providers in `oidc`), report expiring certificates, and purge expired requests,
//! tests and assertions.
//!
//! Every instance with the worker role takes part. An instance leases each SSO connection for five minutes.

use std::{sync::Arc, time::Duration};

use actix_web::web;
use audit::{Audited, Unaudited};
use futures_util::{StreamExt, stream};
use kernel::{Actor, Ctx, Env, StoreError, StoreResult, TenantId};
use saml_sp::{ProviderId, RefreshOutcome};
use sign_in::sso::{Maintenance, maintain};
use store::{Across, Store, Tx};
use tokio::time::{MissedTickBehavior, interval};
use webhooks::client::Client;

use crate::{api::Site, area_metrics, metadata};

/// Polling interval.
const EVERY: Duration = Duration::from_mins(1);
/// Lease of an SSO connection in milliseconds, longer than a metadata refresh takes.
pub(crate) const LEASE: i64 = 5 * 60_000;
/// SSO connections per query.
pub(crate) const AT_ONCE: i64 = 100;
/// Concurrent refreshes.
pub(crate) const BESIDE: usize = 8;
/// Maximum queries per poll; the rest waits for the next poll.
pub(crate) const ROUNDS: usize = 100;
/// Pause between two purges.
const BREATH: Duration = Duration::from_millis(20);

/// The worker for SSO connections.
pub(crate) struct SamlWorker {
    pub(crate) store: Arc<Store>,
    pub(crate) env: Arc<dyn Env>,
    pub(crate) site: web::Data<Site>,
}

impl SamlWorker {
    pub(crate) fn new(store: Arc<Store>, env: Arc<dyn Env>, site: web::Data<Site>) -> Self {
        Self { store, env, site }
    }

    /// Runs until the process ends.
    pub(crate) async fn run(&self) {
        let client = match self.site.webhooks.another_client() {
            Ok(client) => client,
            Err(error) => {
                tracing::error!(%error, "SSO connections are not maintained");
                return;
            }
        };
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            log_problem("SSO connections could not be refreshed", self.refresh_all(&client).await);
            log_problem("OpenID providers could not be refreshed", self.refresh_oidc(&client).await);
            log_problem("verified domains could not be rechecked", self.recheck_domains().await);
            log_problem("expired single sign-on data could not be purged", self.purge().await);
            log_problem("expiring SSO certificates could not be counted", self.measure().await);
        }
    }

    pub(crate) fn ctx(&self, tenant: &TenantId) -> Ctx {
        Ctx::new(Arc::clone(&self.env), tenant.clone(), Actor::system("saml"))
    }

    /// Refreshes all SSO connections that are due.
    async fn refresh_all(&self, client: &Client) -> StoreResult<()> {
        for _ in 0..ROUNDS {
            let now = self.env.now();
            let look = async move |across: &mut Across| across.saml_due(now, AT_ONCE).await;
            let due = self.store.across(look).await?;
            if due.is_empty() {
                break;
            }
            let each = async |(tenant, id): (TenantId, ProviderId)| {
                let done = self.refresh_one(client, &tenant, &id).await;
                // A failure of one SSO connection must not stop the others.
                log_problem("an SSO connection could not be refreshed", done);
            };
            stream::iter(due).for_each_concurrent(BESIDE, each).await;
        }
        Ok(())
    }

    async fn refresh_one(&self, client: &Client, tenant: &TenantId, id: &ProviderId) -> StoreResult<()> {
        let wanted = id.clone();
        let take = async move |ctx: &Ctx, tx: &mut Tx| {
            let taken = tx.take_due_provider(&wanted, ctx.now, ctx.now.plus_millis(LEASE)).await?;
            Ok::<_, StoreError>(Audited::without(taken, Unaudited::LookedAfter))
        };
        let Some(provider) = self.store.write(self.ctx(tenant), take).await? else { return Ok(()) };
        let fetched = match provider.due_metadata_url(self.env.now()) {
            Some(url) => Some((url.to_owned(), metadata::read(client, url).await)),
            None => None,
        };
        let wanted = id.clone();
        let work = async move |ctx: &Ctx, tx: &mut Tx| maintain(ctx, tx, &wanted, fetched).await;
        let done = self.store.write::<_, StoreError>(self.ctx(tenant), work).await?;
        note(tenant, id, &done);
        Ok(())
    }

    /// Purges expired requests, tests and used assertions.
    async fn purge(&self) -> StoreResult<()> {
        for _ in 0..ROUNDS {
            let now = self.env.now();
            let over = self.store.expired_saml(now).await?;
            if over.is_empty() {
                break;
            }
            for of_tenant in over {
                let ctx = self.ctx(&of_tenant.tenant);
                let work = async move |_: &Ctx, tx: &mut Tx| {
                    tx.purge_saml(&of_tenant).await?;
                    Ok::<_, StoreError>(Audited::without((), Unaudited::LookedAfter))
                };
                // A failure of one tenant must not stop the others.
                log_problem(
                    "expired single sign-on data could not be purged",
                    self.store.write(ctx, work).await,
                );
            }
            tokio::time::sleep(BREATH).await;
        }
        Ok(())
    }

    async fn measure(&self) -> StoreResult<()> {
        let now = self.env.now();
        let expiry =
            self.store.across(async move |across: &mut Across| across.saml_expiry(now).await).await?;
        area_metrics::saml_expiry(&expiry, now);
        Ok(())
    }
}

/// Counts what was done for an SSO connection, and logs it.
fn note(tenant: &TenantId, provider: &ProviderId, done: &Maintenance) {
    let (tenant, provider) = (tenant.as_str(), provider.as_str());
    if let Some(refreshed) = &done.refreshed {
        note_refresh(tenant, provider, refreshed);
    }
    if let Some(expiring) = &done.expiring {
        let days = expiring.days;
        tracing::warn!(
            tenant,
            provider,
            days,
            "the last signing certificate of an SSO connection expires soon"
        );
    }
}

fn note_refresh(tenant: &str, provider: &str, refreshed: &RefreshOutcome) {
    match &refreshed.problem {
        Some(problem) => {
            area_metrics::saml_read("failed");
            tracing::warn!(tenant, provider, problem, "metadata of an SSO connection could not be refreshed");
        }
        None if refreshed.changed.is_empty() => {
            area_metrics::saml_read("unchanged");
            tracing::debug!(tenant, provider, "metadata of an SSO connection is unchanged");
        }
        None => {
            area_metrics::saml_read("changed");
            let changed = refreshed.changed.join(", ");
            tracing::info!(tenant, provider, changed, "metadata of an SSO connection has changed");
        }
    }
}

pub(crate) fn log_problem(problem: &'static str, done: StoreResult<()>) {
    if let Err(error) = done {
        tracing::warn!(%error, "{problem}");
    }
}
