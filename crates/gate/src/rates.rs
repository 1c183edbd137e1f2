//! How many SCIM requests a tenant may send: a token bucket for each, filled as its tier has it.
//!
//! The buckets are this instance's. A tenant's tier is read once a minute, not at every request.

use std::{num::NonZeroU32, time::Duration};

use directory::Tier;
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use kernel::{StoreResult, TenantId};
use moka::sync::Cache;

use super::errors::Problem;

/// How long a tier that was read is believed.
const TIER_KEPT: Duration = Duration::from_mins(1);
/// Tenants whose tier is kept at most.
const TENANTS: u64 = 100_000;

/// The buckets of all tenants.
pub(crate) struct ScimRates {
    tiers: Cache<TenantId, Tier>,
    free: DefaultKeyedRateLimiter<TenantId>,
    standard: DefaultKeyedRateLimiter<TenantId>,
    enterprise: DefaultKeyedRateLimiter<TenantId>,
}

impl ScimRates {
    /// Requests a second of each tier, and twice that at once.
    pub(crate) fn new(rates: [NonZeroU32; 3]) -> Self {
        let limiter = |rate: NonZeroU32| {
            RateLimiter::keyed(Quota::per_second(rate).allow_burst(rate.saturating_add(rate.get())))
        };
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
        // Buckets that are full again need not be kept.
        for limiter in [&self.free, &self.standard, &self.enterprise] {
            if limiter.len() as u64 > TENANTS {
                limiter.retain_recent();
            }
        }
        Ok(tier)
    }

    /// Takes one request out of the tenant's bucket. `find` reads the tenant's tier, once a minute.
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
        limiter.check_key(tenant).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Problem::rate_limited(wait.as_secs() + 1)
        })
    }
}
