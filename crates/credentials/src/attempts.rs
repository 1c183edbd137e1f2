//! Limits of attempts: sliding, and exact under parallel requests and over instances.
//!
//! An attempt is taken from all its limits at once, in one transaction, before it is evaluated; one that is
//! refused is not evaluated and does not count. What is kept of it has no personal value in it: a limit's
//! key is a hash.

use crate::store::AttemptStore;
use std::net::{IpAddr, Ipv6Addr};

use kernel::{StoreResult, TenantId, Timestamp, UserId};
use ring::digest;

const MINUTE: i64 = 60_000;

/// What an attempt is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptKey([u8; 32]);

impl AttemptKey {
    fn of(parts: &[&str]) -> Self {
        let digest = digest::digest(&digest::SHA256, parts.join("\0").as_bytes());
        let mut key = [0; 32];
        key.copy_from_slice(digest.as_ref());
        Self(key)
    }

    /// The 32 bytes it is stored as.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// So many attempts in so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// What they are counted under.
    pub key: AttemptKey,
    /// Maximum number of attempts in the window.
    pub most: usize,
    /// In how many milliseconds.
    pub window: i64,
}

/// Where attempts come from, as they are counted: IPv4 by address, IPv6 by its /64.
pub fn origin(address: Option<IpAddr>) -> String {
    match address {
        None => "unknown".into(),
        Some(IpAddr::V4(v4)) => v4.to_string(),
        Some(IpAddr::V6(v6)) => {
            let [a, b, c, d, ..] = v6.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

/// Limits of a password: 10 in 5 minutes by sign-in address and client address, and 100 in 5 minutes by client address.
pub fn password(email: &str, origin: &str) -> Vec<Limit> {
    vec![
        Limit { key: AttemptKey::of(&["password", email, origin]), most: 10, window: 5 * MINUTE },
        Limit { key: AttemptKey::of(&["password", origin]), most: 100, window: 5 * MINUTE },
    ]
}

/// Limits of a password from client addresses that never signed the account in: 50 an hour by sign-in address.
pub fn password_by_strangers(email: &str) -> Vec<Limit> {
    vec![Limit { key: AttemptKey::of(&["password by strangers", email]), most: 50, window: 60 * MINUTE }]
}

fn codes_of(tenant: &TenantId, user: &UserId) -> Limit {
    let key = AttemptKey::of(&["code", tenant.as_str(), user.as_str()]);
    Limit { key, most: 10, window: 5 * MINUTE }
}

/// Limits of a code of an authenticator app: 10 in 5 minutes by address, and by account.
pub fn totp(tenant: &TenantId, user: &UserId, origin: &str) -> Vec<Limit> {
    let by_origin = Limit { key: AttemptKey::of(&["totp", origin]), most: 10, window: 5 * MINUTE };
    vec![by_origin, codes_of(tenant, user)]
}

/// Limits of a code for a step-up: 10 in 5 minutes by session, apart from those at sign-in. Somebody who has taken a
/// session uses up nothing of its user's.
pub fn step_up(session: &str) -> Vec<Limit> {
    vec![Limit { key: AttemptKey::of(&["step-up", session]), most: 10, window: 5 * MINUTE }]
}

/// Wrong codes in a row, at sign-in and step-up together, after which an account accepts none: until its user signs in
/// with a passkey, or an administrator resets the factors.
pub const MAX_WRONG_CODES: i64 = 100;

/// Limits of a recovery code: 5 in 5 minutes by address, and 10 by account together with other codes.
pub fn recovery_code(tenant: &TenantId, user: &UserId, origin: &str) -> Vec<Limit> {
    let by_origin = Limit { key: AttemptKey::of(&["recovery code", origin]), most: 5, window: 5 * MINUTE };
    vec![by_origin, codes_of(tenant, user)]
}

/// Limits of links, tickets and passkeys, which cannot be guessed: 100 in 5 minutes by address.
pub fn other(what: &str, origin: &str) -> Vec<Limit> {
    vec![Limit { key: AttemptKey::of(&["other", what, origin]), most: 100, window: 5 * MINUTE }]
}

/// Limits of sign-ins that begin at an identity provider's: 1,000 in 5 minutes by address, as everybody of an office
/// comes from one and nothing is guessed.
pub fn federated(origin: &str) -> Vec<Limit> {
    vec![Limit { key: AttemptKey::of(&["federated", origin]), most: 1000, window: 5 * MINUTE }]
}

/// Limits of tests of webhooks: 10 in a minute by tenant.
pub fn webhook_test(tenant: &TenantId) -> Vec<Limit> {
    vec![Limit { key: AttemptKey::of(&["webhook test", tenant.as_str()]), most: 10, window: MINUTE }]
}

/// Limits of what is looked up at addresses of a tenant's choosing: 20 in a minute by tenant.
pub fn look_up(tenant: &TenantId) -> Vec<Limit> {
    vec![Limit { key: AttemptKey::of(&["look-up", tenant.as_str()]), most: 20, window: MINUTE }]
}

/// Whether an attempt may be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The attempt may be evaluated, and was counted.
    Yes,
    /// It does not, and is not to be evaluated for so many seconds.
    No {
        /// 1 or more.
        retry_after: u64,
    },
}

/// Takes an attempt from all limits, or from none.
pub async fn take(
    store: &mut dyn AttemptStore,
    mut limits: Vec<Limit>,
    now: Timestamp,
) -> StoreResult<AttemptOutcome> {
    // In one order everywhere, so that two never wait for each other.
    limits.sort_unstable_by_key(|limit| limit.key);
    let present = now.unix_millis();
    let mut wait = 0;
    let keys: Vec<_> = limits.iter().map(|limit| limit.key).collect();
    let mut counted = store.attempts(&keys).await?;
    for (limit, times) in limits.iter().zip(&mut counted) {
        times.retain(|time| *time > present - limit.window);
        if times.len() >= limit.most {
            // The oldest of the last so many has to leave the window.
            let leaving = times.len().checked_sub(limit.most).and_then(|index| times.get(index)).copied();
            wait = wait.max(leaving.unwrap_or(present) + limit.window - present);
        }
    }
    if wait > 0 {
        let seconds = u64::try_from((wait + 999) / 1000).unwrap_or(1);
        return Ok(AttemptOutcome::No { retry_after: seconds.max(1) });
    }
    let with_this = |(limit, mut times): (&Limit, Vec<i64>)| {
        times.push(present);
        (limit.key, times, now.plus_millis(limit.window))
    };
    let kept: Vec<_> = limits.iter().zip(counted).map(with_this).collect();
    store.record_attempts(&kept).await?;
    Ok(AttemptOutcome::Yes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use async_trait::async_trait;

    use super::*;

    #[derive(Default)]
    struct MemoryAttempts(BTreeMap<AttemptKey, Vec<i64>>);

    #[async_trait]
    impl AttemptStore for MemoryAttempts {
        async fn attempts(&mut self, keys: &[AttemptKey]) -> StoreResult<Vec<Vec<i64>>> {
            Ok(keys.iter().map(|key| self.0.get(key).cloned().unwrap_or_default()).collect())
        }
        async fn record_attempts(&mut self, kept: &[(AttemptKey, Vec<i64>, Timestamp)]) -> StoreResult<()> {
            self.0.extend(kept.iter().map(|(key, times, _)| (*key, times.clone())));
            Ok(())
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_unix_millis(1_800_000_000_000 + millis)
    }

    #[tokio::test]
    async fn windows_slide_and_refusals_do_not_count() {
        let mut store = MemoryAttempts::default();
        let limits = || password("ada@example.com", "203.0.113.1");
        for i in 0..10 {
            assert_eq!(take(&mut store, limits(), at(i * 1000)).await.unwrap(), AttemptOutcome::Yes);
        }
        for _ in 0..50 {
            let refused = take(&mut store, limits(), at(10_000)).await.unwrap();
            assert_eq!(refused, AttemptOutcome::No { retry_after: 290 });
        }
        assert_eq!(
            take(&mut store, limits(), at(300_000 - 1)).await.unwrap(),
            AttemptOutcome::No { retry_after: 1 }
        );
        assert_eq!(
            take(&mut store, limits(), at(300_000)).await.unwrap(),
            AttemptOutcome::Yes,
            "the first has left"
        );
        assert_eq!(
            take(&mut store, limits(), at(300_000)).await.unwrap(),
            AttemptOutcome::No { retry_after: 1 }
        );
        // From elsewhere the account is open.
        let elsewhere = password("ada@example.com", "203.0.113.2");
        assert_eq!(take(&mut store, elsewhere, at(300_000)).await.unwrap(), AttemptOutcome::Yes);
    }

    #[tokio::test]
    async fn strangers_are_counted_together() {
        let mut store = MemoryAttempts::default();
        for i in 0..50 {
            let taken = take(&mut store, password_by_strangers("ada"), at(i)).await.unwrap();
            assert_eq!(taken, AttemptOutcome::Yes);
        }
        let refused = take(&mut store, password_by_strangers("ada"), at(50)).await.unwrap();
        assert_eq!(refused, AttemptOutcome::No { retry_after: 3600 });
        assert_eq!(
            take(&mut store, password("ada", "192.0.2.1"), at(50)).await.unwrap(),
            AttemptOutcome::Yes
        );
    }

    #[test]
    fn networks_of_ipv6_are_one_origin() {
        let of = |text: &str| origin(Some(text.parse().unwrap()));
        assert_eq!(of("2001:db8:1:2:3::4"), of("2001:db8:1:2::ffff"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("203.0.113.9"), "203.0.113.9");
    }
}
