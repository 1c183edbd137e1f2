//! How many tokens a tenant may receive.

use std::num::NonZeroU32;

use gate::errors::Problem;
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use kernel::TenantId;

/// Tokens per second and tenant on each instance, and the burst. Each costs a verification, a transaction and an audit entry.
const TOKENS: Quota =
    Quota::per_second(NonZeroU32::new(50).unwrap()).allow_burst(NonZeroU32::new(1000).unwrap());
/// Tracked tenants before idle ones are purged.
const TENANTS: usize = 10_000;

/// Limits authenticated tokens, so that the transmitters of a tenant do not slow down others.
pub(crate) struct ReceivedRate(DefaultKeyedRateLimiter<TenantId>);

impl ReceivedRate {
    pub(crate) fn new() -> Self {
        Self(RateLimiter::keyed(TOKENS))
    }

    /// Counts a token. Fails with 429 above the limit.
    pub(super) fn admit(&self, tenant: &TenantId) -> Result<(), Problem> {
        if self.0.len() > TENANTS {
            self.0.retain_recent();
        }
        self.0.check_key(tenant).map_err(|until| {
            let seconds = until.wait_time_from(DefaultClock::default().now()).as_secs() + 1;
            Problem::busy("The transmitters of this tenant send too many events", seconds)
        })
    }
}

#[cfg(test)]
mod tests {
    use kernel::SystemEnv;

    use super::*;

    #[test]
    fn each_tenant_has_a_rate_of_its_own() {
        let (rate, env) = (ReceivedRate::new(), SystemEnv::default());
        let [one, another] = [(); 2].map(|()| TenantId::new(&env));
        let accepted = (0..5000).filter(|_| rate.admit(&one).is_ok()).count();
        assert!((1000..5000).contains(&accepted), "{accepted}");
        assert!(rate.admit(&another).is_ok());
    }
}
