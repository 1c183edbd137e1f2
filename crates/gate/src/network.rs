//! Enforces network policies.
//!
//! A tenant's settings are read with each credential. Its compiled rules are cached here until the version that comes
//! with the settings changes. So a change applies to the next request on every instance, and tenants without a policy
//! need no lookup.

use std::sync::Arc;

use audit::{Event, events::policies::NetworkPolicyBlocked};
use kernel::{Ctx, StoreError, StoreResult, TenantId};
use moka::sync::Cache;
use netpolicy::{Decision, NetworkPolicyStore, Policy, Surface};
use store::{Holder, NetworkMark, Store, Tx};

use super::{
    errors::{Code, Problem},
    meter,
};

/// Approximate number of cached rules over all tenants.
const KEPT: u64 = 1_000_000;

/// Compiled policies.
pub(crate) struct Networks(Cache<TenantId, Arc<CompiledPolicy>>);

struct CompiledPolicy {
    version: u64,
    rules: u32,
    policy: Policy,
}

impl Default for Networks {
    fn default() -> Self {
        let weigh = |_: &TenantId, ready: &Arc<CompiledPolicy>| ready.rules.saturating_add(1);
        Self(Cache::builder().max_capacity(KEPT).weigher(weigh).build())
    }
}

impl Networks {
    /// Admits a request or returns a 403.
    pub(crate) async fn admit(
        &self,
        store: &Store,
        ctx: &Ctx,
        mark: NetworkMark,
        who: &DeniedCaller<'_>,
    ) -> Result<(), Problem> {
        // Returns early if the policy does not apply, to keep the future of every request small.
        if !mark.settings.looks_at(who.surface) {
            return Ok(());
        }
        let ready = match self.0.get(&ctx.tenant).filter(|ready| ready.version == mark.version) {
            Some(ready) => ready,
            None => Box::pin(self.read(store, &ctx.tenant, mark)).await?,
        };
        decided(&ready.policy, ctx, who)
    }

    async fn read(
        &self,
        store: &Store,
        tenant: &TenantId,
        mark: NetworkMark,
    ) -> StoreResult<Arc<CompiledPolicy>> {
        let find = async |tx: &mut Tx| tx.network_rules().await;
        let rules = store.read::<_, StoreError>(tenant.clone(), find).await?;
        // If the rules are newer than the version, the next request with the newer version reads them again.
        let ready = Arc::new(CompiledPolicy {
            version: mark.version,
            rules: u32::try_from(rules.len()).unwrap_or(u32::MAX),
            policy: Policy::new(mark.settings, &rules),
        });
        self.0.insert(tenant.clone(), Arc::clone(&ready));
        Ok(ready)
    }
}

/// The caller, as recorded in the audit event of a blocked request.
pub(crate) struct DeniedCaller<'a> {
    /// What the caller wants to use.
    pub(crate) surface: Surface,
    /// The id of the user or token.
    pub(crate) id: &'a str,
    /// Whether the administrators' bypass applies.
    pub(crate) admin: bool,
}

impl<'a> DeniedCaller<'a> {
    pub(crate) fn of(holder: &'a Holder, surface: Surface) -> Self {
        Self { surface, id: holder.user.as_str(), admin: holder.roles.is_admin() }
    }
}

/// Decides again in the unit of work of a request that an older policy has admitted.
pub(crate) async fn decide_again(
    ctx: &Ctx,
    tx: &mut Tx,
    mark: NetworkMark,
    who: &DeniedCaller<'_>,
) -> Result<(), Problem> {
    if !mark.settings.looks_at(who.surface) {
        return Ok(());
    }
    let policy = Policy::new(mark.settings, &tx.network_rules().await?);
    decided(&policy, ctx, who)
}

fn decided(policy: &Policy, ctx: &Ctx, who: &DeniedCaller<'_>) -> Result<(), Problem> {
    if policy.decide(ctx.ip, who.surface, who.admin).decision == Decision::Allow {
        return Ok(());
    }
    meter::network_denied(who.surface.as_str());
    let data = NetworkPolicyBlocked {
        surface: who.surface.as_str(),
        credential: who.id.to_owned(),
        suppressed: None,
    };
    let event = Event::new(ctx.tenant.as_str(), &data);
    Err(blocked().with_event_as(ctx, event))
}

/// Creates the 403.
pub(crate) fn blocked() -> Problem {
    Problem::new(Code::NetworkPolicyBlocked, netpolicy::BLOCKED)
}
