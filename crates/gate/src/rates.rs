//! Limits the rate of SCIM requests per tenant, with a token bucket whose size depends on the tenant's tier.
//!
//! Each instance has its own buckets. A tenant's tier is read once per minute, not on every request.

use std::{num::NonZeroU32, time::Duration};

use directory::Tier;
use kernel::{StoreResult, TenantId};
use moka::sync::Cache;

use super::{errors::Problem, rate_limit::RateLimit};

/// How long a tier is cached.
const TIER_KEPT: Duration = Duration::from_mins(1);
/// Maximum number of cached tiers.
const TENANTS: u64 = 100_000;

/// The token buckets of all tenants.
pub(crate) struct ScimRates {
    tiers: Cache<TenantId, Tier>,
    free: RateLimit<TenantId>,
    standard: RateLimit<TenantId>,
    enterprise: RateLimit<TenantId>,
}

impl ScimRates {
    /// Allows this many requests per second for each tier, and bursts of twice as many.
    pub(crate) fn new(rates: [NonZeroU32; 3]) -> Self {
        let limiter = |rate: NonZeroU32| RateLimit::new(rate, rate.saturating_add(rate.get()));
        let [free, standard, enterprise] = rates.map(limiter);
        let tiers = Cache::builder().max_capacity(TENANTS).time_to_live(TIER_KEPT).build();
        Self { tiers, free, standard, enterprise }
    }

    async fn tier(
        &self,
        tenant: &TenantId,
        find: impl AsyncFnOnce() -> StoreResult<Tier>,
    ) -> Result<Tier, Problem> {
        if let Some(tier) = self.tiers.get(tenant) {
            return Ok(tier);
        }
        let tier = find().await?;
        self.tiers.insert(tenant.clone(), tier);
        Ok(tier)
    }

    /// Takes a token from the tenant's bucket or returns a 429. `find` reads the tenant's tier when it is not cached.
    pub(crate) async fn admit(
        &self,
        tenant: &TenantId,
        find: impl AsyncFnOnce() -> StoreResult<Tier>,
    ) -> Result<(), Problem> {
        let limiter = match self.tier(tenant, find).await? {
            Tier::Free => &self.free,
            Tier::Standard => &self.standard,
            Tier::Enterprise => &self.enterprise,
        };
        limiter.count(tenant).map_err(Problem::rate_limited)
    }
}
