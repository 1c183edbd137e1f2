//! Checks the DNS records of verified domains again every 30 days.

use audit::{
    Audited, Event, Unaudited,
    events::saml::{DomainProofLost, DomainUnverified},
};
use futures_util::{StreamExt, stream};
use kernel::{Ctx, StoreError, StoreResult, TenantId};
use saml_sp::{DomainStore, EmailDomain, RecheckOutcome, RecordFound, recheck};
use store::{Across, Tx};

use super::saml::{AT_ONCE, BESIDE, LEASE, ROUNDS, SamlWorker, log_problem};
use crate::dns;

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
        let found = match self.site.dns.proofs(domain).await {
            Err(_) => RecordFound::Unknown,
            Ok(texts) => {
                let is_ours = |token: &str| self.site.pipeline.keys.is_domain_token(tenant, domain, token);
                let is_there = texts.iter().filter_map(|text| dns::token_of(text)).any(is_ours);
                if is_there { RecordFound::Present } else { RecordFound::Absent }
            }
        };
        let domain = domain.clone();
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let (tenant, name) = (ctx.tenant.as_str(), domain.as_str());
            let (next, event) = match recheck(ctx.now, &before, found) {
                RecheckOutcome::Kept(next) => (next, None),
                RecheckOutcome::Lost(next) => {
                    tracing::warn!(tenant, domain = name, "the DNS record of a verified domain is missing");
                    (next, Some(Event::new(name, &DomainProofLost { record: dns::record_name(&domain) })))
                }
                RecheckOutcome::Unverified { missing_since } => {
                    if !tx.delete_verified_domain(&domain).await? {
                        return Ok(Audited::without((), Unaudited::NothingChanged));
                    }
                    tracing::warn!(
                        tenant,
                        domain = name,
                        "a domain is no longer verified, because its DNS record is missing"
                    );
                    let data = DomainUnverified { missing_since: missing_since.to_string() };
                    return Ok(Audited::new((), Event::new(name, &data)));
                }
            };
            // The tenant may have given up the domain meanwhile.
            if tx.reschedule_domain(&domain, &next).await? {
                Ok(Audited::of_changes((), event.into_iter().collect()))
            } else {
                Ok::<_, StoreError>(Audited::without((), Unaudited::NothingChanged))
            }
        };
        self.store.write(self.ctx(tenant), work).await
    }
}
