//! Checks the DNS records of verified domains again every 30 days.

use audit::{Audited, Unaudited};
use futures_util::{StreamExt, stream};
use kernel::{Ctx, StoreError, StoreResult, TenantId};
use saml_sp::{EmailDomain, RecheckOutcome};
use store::{Across, Tx};

use super::saml::{AT_ONCE, BESIDE, LEASE, ROUNDS, SamlWorker, log_problem};

impl SamlWorker {
    /// Checks the records of all domains that are due.
    pub(crate) async fn recheck_domains(&self) -> StoreResult<()> {
        for _ in 0..ROUNDS {
            let now = self.env.now();
            let look = async move |across: &mut Across| across.domains_due(now, AT_ONCE).await;
            let due = self.store.across(look).await?;
            if due.is_empty() {
                break;
            }
            let each = async |(tenant, domain): (TenantId, EmailDomain)| {
                log_problem(
                    "a verified domain could not be rechecked",
                    self.recheck_domain(&tenant, &domain).await,
                );
            };
            stream::iter(due).for_each_concurrent(BESIDE, each).await;
        }
        Ok(())
    }

    async fn recheck_domain(&self, tenant: &TenantId, domain: &EmailDomain) -> StoreResult<()> {
        let wanted = domain.clone();
        let take = async move |ctx: &Ctx, tx: &mut Tx| {
            let taken = tx.take_due_domain(&wanted, ctx.now, ctx.now.plus_millis(LEASE)).await?;
            Ok::<_, StoreError>(Audited::without(taken, Unaudited::LookedAfter))
        };
        let Some(before) = self.store.write(self.ctx(tenant), take).await? else { return Ok(()) };
        let records = self.site.dns.proofs(domain).await.ok();
        let keys = &self.site.pipeline.keys;
        let is_ours = |token: &str| keys.is_domain_token(tenant, domain, token);
        let found = before.look(records.as_deref(), is_ours);
        let wanted = domain.clone();
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            sign_in::sso::recheck_domain(ctx, tx, &wanted, &before, found).await
        };
        let outcome = self.store.write::<_, StoreError>(self.ctx(tenant), work).await?;
        log_outcome(tenant, domain, outcome.as_ref());
        Ok(())
    }
}

fn log_outcome(tenant: &TenantId, domain: &EmailDomain, outcome: Option<&RecheckOutcome>) {
    let (tenant, domain) = (tenant.as_str(), domain.as_str());
    match outcome {
        Some(RecheckOutcome::Lost(_)) => {
            tracing::warn!(tenant, domain, "the DNS record of a verified domain is missing");
        }
        Some(RecheckOutcome::Unverified { .. }) => {
            tracing::warn!(
                tenant,
                domain,
                "a domain is no longer verified, because its DNS record is missing"
            );
        }
        Some(RecheckOutcome::Kept(_)) | None => {}
    }
}
