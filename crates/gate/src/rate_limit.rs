//! A rate limit per key, such as a client address or a tenant, on this instance.

use std::{hash::Hash, num::NonZeroU32};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};

/// Tracked keys before idle ones are purged.
const KEYS: usize = 10_000;

/// A token bucket for each key.
pub struct RateLimit<K: Clone + Eq + Hash>(DefaultKeyedRateLimiter<K>);

impl<K: Clone + Eq + Hash> RateLimit<K> {
    /// Allows `per_second` events for each key, and bursts of `burst`.
    pub fn new(per_second: NonZeroU32, burst: NonZeroU32) -> Self {
        Self(RateLimiter::keyed(Quota::per_second(per_second).allow_burst(burst)))
    }

    /// Allows a burst of this many events for each key, and as many in each hour after it.
    pub fn per_hour(most: NonZeroU32) -> Self {
        Self(RateLimiter::keyed(Quota::per_hour(most)))
    }

    /// Counts an event of a key.
    ///
    /// # Errors
    /// Above the limit, the number of seconds to wait, at least 1.
    pub fn count(&self, key: &K) -> Result<(), u64> {
        if self.0.len() > KEYS {
            self.0.retain_recent();
        }
        self.0
            .check_key(key)
            .map_err(|until| until.wait_time_from(DefaultClock::default().now()).as_secs() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_a_burst_of_its_own() {
        let [per_second, burst] = [5, 100].map(|number| NonZeroU32::new(number).unwrap());
        let limit = RateLimit::new(per_second, burst);
        let accepted = (0..5000).filter(|_| limit.count(&"one").is_ok()).count();
        assert!((100..5000).contains(&accepted), "{accepted}");
        assert_eq!(limit.count(&"one"), Err(1));
        assert!(limit.count(&"another").is_ok());
    }

    #[test]
    fn idle_keys_are_purged() {
        let per_second = NonZeroU32::new(1_000_000).unwrap();
        let limit = RateLimit::new(per_second, per_second);
        assert!((0..3 * KEYS).all(|key| limit.count(&key).is_ok()));
        assert!(limit.0.len() <= KEYS + 1, "{}", limit.0.len());
    }
}
