//! Rate limits for attempts: sliding windows, exact under parallel requests and across instances.
//!
//! An attempt counts against all its limits in one transaction, before it is evaluated. A refused attempt is neither
//! evaluated nor counted. Limits are stored under a hash, so the rows contain no personal data.

use crate::store::AttemptStore;
use std::net::{IpAddr, Ipv6Addr};

use kernel::{StoreResult, TenantId, Timestamp, UserId};
use ring::digest;

const MINUTE: i64 = 60_000;

/// The key under which attempts are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptKey([u8; 32]);

impl AttemptKey {
    fn of(parts: &[&str]) -> Self {
        let digest = digest::digest(&digest::SHA256, parts.join("\0").as_bytes());
        let mut key = [0; 32];
        key.copy_from_slice(digest.as_ref());
        Self(key)
    }

    /// Returns the 32 bytes to store.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A maximum number of attempts in a sliding window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The key under which attempts are counted.
    pub key: AttemptKey,
    /// Maximum number of attempts in the window.
    pub most: usize,
    /// The length of the window in milliseconds.
    pub window: i64,
    /// How many attempts [`take`] counts, usually 1.
    pub count: usize,
}

impl Limit {
    fn new(key: &[&str], most: usize, window: i64) -> Self {
        Self { key: AttemptKey::of(key), most, window, count: 1 }
    }
}

/// Returns the client's network as limits count it: the address for IPv4, the /64 for IPv6.
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

/// Limits for passwords: 10 in 5 minutes per sign-in address and client address, 100 in 5 minutes per client address.
pub fn password(email: &str, origin: &str) -> Vec<Limit> {
    vec![
        Limit::new(&["password", email, origin], 10, 5 * MINUTE),
        Limit::new(&["password", origin], 100, 5 * MINUTE),
    ]
}

/// Limit for passwords from client addresses that never signed the account in: 50 per hour and sign-in address.
pub fn password_by_strangers(email: &str) -> Vec<Limit> {
    vec![Limit::new(&["password by strangers", email], 50, 60 * MINUTE)]
}

fn codes_of(tenant: &TenantId, user: &UserId) -> Limit {
    Limit::new(&["code", tenant.as_str(), user.as_str()], 10, 5 * MINUTE)
}

/// Limits for TOTP codes at sign-in: 10 in 5 minutes per client address, and 10 per account.
pub fn totp(tenant: &TenantId, user: &UserId, origin: &str) -> Vec<Limit> {
    let by_origin = Limit::new(&["totp", origin], 10, 5 * MINUTE);
    vec![by_origin, codes_of(tenant, user)]
}

/// Limit for TOTP codes at a step-up: 10 in 5 minutes per session, separate from those at sign-in. An attacker with a
/// stolen session therefore cannot exhaust the user's attempts to sign in.
pub fn step_up(session: &str) -> Vec<Limit> {
    vec![Limit::new(&["step-up", session], 10, 5 * MINUTE)]
}

/// The number of consecutive wrong codes, at sign-in and step-up together, after which an account accepts no codes. A
/// sign-in with a passkey or an administrator's reset of the factors ends this.
pub const MAX_WRONG_CODES: i64 = 100;

/// Limits for recovery codes: 5 in 5 minutes per client address, and 10 per account together with TOTP codes.
pub fn recovery_code(tenant: &TenantId, user: &UserId, origin: &str) -> Vec<Limit> {
    let by_origin = Limit::new(&["recovery code", origin], 5, 5 * MINUTE);
    vec![by_origin, codes_of(tenant, user)]
}

/// Limit for links, tickets and passkeys, which cannot be guessed: 100 in 5 minutes per client address.
pub fn other(what: &str, origin: &str) -> Vec<Limit> {
    vec![Limit::new(&["other", what, origin], 100, 5 * MINUTE)]
}

/// Limits for links by mail that anybody can ask for: 5 per hour and sign-in address, 20 in 5 minutes per client
/// address.
pub fn forgotten_password(email: &str, origin: &str) -> Vec<Limit> {
    vec![
        Limit::new(&["forgotten password", origin], 20, 5 * MINUTE),
        Limit::new(&["forgotten password of", email], 5, 60 * MINUTE),
    ]
}

/// Limit for starting single sign-on: 1,000 in 5 minutes per client address. It is high because an office shares one
/// address and there is nothing to guess.
pub fn federated(origin: &str) -> Vec<Limit> {
    vec![Limit::new(&["federated", origin], 1000, 5 * MINUTE)]
}

/// Limit for webhook tests: 10 per minute and tenant.
pub fn webhook_test(tenant: &TenantId) -> Vec<Limit> {
    vec![Limit::new(&["webhook test", tenant.as_str()], 10, MINUTE)]
}

/// Limit for requests to addresses that a tenant chooses: 20 per minute and tenant.
pub fn look_up(tenant: &TenantId) -> Vec<Limit> {
    vec![Limit::new(&["look-up", tenant.as_str()], 20, MINUTE)]
}

/// Limits for mails with links that administrators send: 10 per hour and recipient, 1,000 per hour, each per tenant, so that
/// no tenant can use up the mails of another. `recipients` are distinct addresses.
pub fn invitations(tenant: &TenantId, recipients: &[&str]) -> Vec<Limit> {
    let mut limits: Vec<_> = recipients.iter().map(|address| links_to(tenant, address)).collect();
    let of_tenant = Limit::new(&["mails of", tenant.as_str()], 1000, 60 * MINUTE);
    limits.push(Limit { count: recipients.len(), ..of_tenant });
    limits
}

/// Limit for resets of a password by administrators, of which the user gets a link: 10 per hour and tenant, together with
/// [`invitations`].
pub fn password_reset(tenant: &TenantId, recipient: &str) -> Vec<Limit> {
    vec![links_to(tenant, recipient)]
}

fn links_to(tenant: &TenantId, address: &str) -> Limit {
    Limit::new(&["links to", tenant.as_str(), address], 10, 60 * MINUTE)
}

/// The decision whether an attempt may be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The attempt may be evaluated, and was counted.
    Yes,
    /// The attempt must not be evaluated.
    No {
        /// Seconds until another attempt may succeed, at least 1.
        retry_after: u64,
    },
}

/// Counts an attempt against all limits, or against none if one would be exceeded.
pub async fn take(
    store: &mut dyn AttemptStore,
    mut limits: Vec<Limit>,
    now: Timestamp,
) -> StoreResult<AttemptOutcome> {
    // Lock the keys in sorted order, to prevent deadlocks.
    limits.sort_unstable_by_key(|limit| limit.key);
    let present = now.unix_millis();
    let mut wait = 0;
    let keys: Vec<_> = limits.iter().map(|limit| limit.key).collect();
    let mut counted = store.attempts(&keys).await?;
    for (limit, times) in limits.iter().zip(&mut counted) {
        times.retain(|time| *time > present - limit.window);
        if let excess @ 1.. = (times.len() + limit.count).saturating_sub(limit.most) {
            // Wait until that many of the oldest attempts have left the window.
            let leaving = times.get(excess - 1).copied();
            wait = wait.max(leaving.unwrap_or(present) + limit.window - present);
        }
    }
    if wait > 0 {
        let seconds = u64::try_from((wait + 999) / 1000).unwrap_or(1);
        return Ok(AttemptOutcome::No { retry_after: seconds.max(1) });
    }
    let with_this = |(limit, mut times): (&Limit, Vec<i64>)| {
        times.extend(std::iter::repeat_n(present, limit.count));
        (limit.key, times, now.plus_millis(limit.window))
    };
    let kept: Vec<_> = limits.iter().zip(counted).map(with_this).collect();
    store.record_attempts(&kept).await?;
    Ok(AttemptOutcome::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryAttempts;

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
            "the first attempt has left the window"
        );
        let kept = store.attempts(&[limits()[0].key]).await.unwrap();
        assert_eq!(kept[0].len(), 10, "the first attempt is forgotten");
        assert_eq!(
            take(&mut store, limits(), at(300_000)).await.unwrap(),
            AttemptOutcome::No { retry_after: 1 }
        );
        // Another client address is not limited.
        let elsewhere = password("ada@example.com", "203.0.113.2");
        assert_eq!(take(&mut store, elsewhere, at(300_000)).await.unwrap(), AttemptOutcome::Yes);
    }

    #[tokio::test]
    async fn unknown_client_addresses_share_one_limit() {
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

    /// Returns the maximum and the window in seconds of each limit.
    fn sizes(limits: &[Limit]) -> Vec<(usize, i64)> {
        limits.iter().map(|limit| (limit.most, limit.window / 1000)).collect()
    }

    #[test]
    fn limits_are_those_of_the_reference() {
        let env = kernel::ManualEnv::at(at(0));
        let (tenant, user) = (TenantId::new(&env), UserId::new(&env));
        let all = [
            (password("ada", "o"), vec![(10, 300), (100, 300)]),
            (password_by_strangers("ada"), vec![(50, 3600)]),
            (totp(&tenant, &user, "o"), vec![(10, 300), (10, 300)]),
            (step_up("ses_1"), vec![(10, 300)]),
            (recovery_code(&tenant, &user, "o"), vec![(5, 300), (10, 300)]),
            (other("link", "o"), vec![(100, 300)]),
            (forgotten_password("ada", "o"), vec![(20, 300), (5, 3600)]),
            (federated("o"), vec![(1000, 300)]),
            (webhook_test(&tenant), vec![(10, 60)]),
            (look_up(&tenant), vec![(20, 60)]),
        ];
        for (limits, expected) in &all {
            assert_eq!(sizes(limits), *expected);
        }
        // Only the codes of an account are counted together.
        let mut keys: Vec<_> =
            all.iter().flat_map(|(limits, _)| limits).map(|limit| *limit.key.as_bytes()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 13);
        assert_eq!(totp(&tenant, &user, "o")[1].key, recovery_code(&tenant, &user, "p")[1].key);
    }

    #[tokio::test]
    async fn refused_attempt_waits_until_enough_have_left_the_window() {
        let mut store = MemoryAttempts::default();
        // Counted under a higher limit: three attempts, of which one is allowed now.
        let limit = |most| vec![Limit { most, ..step_up("ses_1")[0] }];
        for i in 0..3 {
            assert_eq!(take(&mut store, limit(3), at(i * 10_000)).await.unwrap(), AttemptOutcome::Yes);
        }
        let refused = take(&mut store, limit(1), at(20_000)).await.unwrap();
        assert_eq!(refused, AttemptOutcome::No { retry_after: 300 }, "all three have to leave");
        let refused = take(&mut store, limit(2), at(20_000)).await.unwrap();
        assert_eq!(refused, AttemptOutcome::No { retry_after: 290 }, "two have to leave");
        // Counted in a longer window: the shorter one forgets earlier.
        let of = |window| vec![Limit { most: 1, window, ..step_up("ses_2")[0] }];
        assert_eq!(take(&mut store, of(10 * MINUTE), at(0)).await.unwrap(), AttemptOutcome::Yes);
        let refused = take(&mut store, of(5 * MINUTE), at(5 * MINUTE - 1)).await.unwrap();
        assert_eq!(refused, AttemptOutcome::No { retry_after: 1 });
        assert_eq!(take(&mut store, of(5 * MINUTE), at(5 * MINUTE)).await.unwrap(), AttemptOutcome::Yes);
    }

    #[test]
    fn ipv6_addresses_of_one_64_count_as_one_origin() {
        let of = |text: &str| origin(Some(text.parse().unwrap()));
        assert_eq!(of("2001:db8:1:2:3::4"), of("2001:db8:1:2::ffff"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("203.0.113.9"), "203.0.113.9");
    }

    #[tokio::test]
    async fn mails_are_counted_for_each_recipient_and_the_tenant() {
        let mut store = MemoryAttempts::default();
        let tenant = TenantId::new(&kernel::SystemEnv::default());
        let other = TenantId::new(&kernel::SystemEnv::default());
        for minute in 0..10 {
            let taken = take(&mut store, invitations(&tenant, &["ada", "bob"]), at(minute * MINUTE)).await;
            assert_eq!(taken.unwrap(), AttemptOutcome::Yes);
        }
        let wait = |minutes: u64| AttemptOutcome::No { retry_after: minutes * 60 };
        for limits in [invitations(&tenant, &["cleo", "bob"]), password_reset(&tenant, "bob")] {
            assert_eq!(take(&mut store, limits, at(10 * MINUTE)).await.unwrap(), wait(50));
        }
        let many: Vec<_> = (0..980).map(|number| number.to_string()).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let now = at(20 * MINUTE);
        assert_eq!(take(&mut store, invitations(&tenant, &many), now).await.unwrap(), AttemptOutcome::Yes);
        // 1,000 were sent. Two of the first minute leave the window first.
        assert_eq!(take(&mut store, invitations(&tenant, &["x"]), now).await.unwrap(), wait(40));
        assert_eq!(take(&mut store, invitations(&tenant, &["x", "y"]), now).await.unwrap(), wait(40));
        assert_eq!(take(&mut store, invitations(&tenant, &["x", "y", "z"]), now).await.unwrap(), wait(41));
        for limits in [password_reset(&tenant, "x"), invitations(&other, &["bob"])] {
            assert_eq!(take(&mut store, limits, now).await.unwrap(), AttemptOutcome::Yes);
        }
    }
}
