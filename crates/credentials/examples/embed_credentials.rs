//! Passwords, TOTP codes and rate limits inside your own service.
//!
//! `cargo run -p gatehouse-credentials --example embed_credentials`

use std::collections::BTreeMap;

use async_trait::async_trait;
use credentials::{
    AttemptStore, Cost, PasswordContext, Passwords, Salt, StoredPassword, Verdict,
    attempts::{self, AttemptKey, AttemptOutcome},
    check_new_password, totp,
};
use kernel::{Env, Secret, StoreResult, SystemEnv, TenantId, Timestamp};

/// Stores attempts in a map.
#[derive(Default)]
struct Attempts(BTreeMap<AttemptKey, Vec<i64>>);

#[async_trait]
impl AttemptStore for Attempts {
    async fn attempts(&mut self, keys: &[AttemptKey]) -> StoreResult<Vec<Vec<i64>>> {
        Ok(keys.iter().map(|key| self.0.get(key).cloned().unwrap_or_default()).collect())
    }

    async fn record_attempts(&mut self, kept: &[(AttemptKey, Vec<i64>, Timestamp)]) -> StoreResult<()> {
        self.0.extend(kept.iter().map(|(key, times, _)| (*key, times.clone())));
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let env = SystemEnv::default();
    let chosen = Secret::new("a ship in a bottle".to_owned());
    check_new_password(&chosen, &PasswordContext { names: &["ada@example.com"], factor_enforced: false })?;
    let passwords = Passwords::new(Cost::USUAL);
    let (salt, tenant) = (Salt::random(&env), TenantId::new(&env));
    let hash = passwords.hash(&chosen, &salt, &tenant)?;
    println!("stored as {}…", hash.chars().take(30).collect::<String>());
    let stored = [StoredPassword { tenant, hash }];

    // Count the attempt before evaluating it.
    let mut store = Attempts::default();
    let mut evaluated = 0;
    while attempts::take(&mut store, attempts::password("ada", "203.0.113.1"), env.now()).await?
        == AttemptOutcome::Yes
    {
        evaluated += 1;
        if evaluated == 1 {
            assert_eq!(passwords.verify(&chosen, Some(&salt), &stored), [Verdict::Right { stale: false }]);
        }
    }
    println!("{evaluated} attempts were accepted; further ones have to wait");

    let secret = totp::new_secret(&env);
    println!("{}", totp::otpauth_uri(&secret, "Example", "ada@example.com").expose());
    assert_eq!(totp::verify(&secret, "not a code", env.now(), -1), None);
    Ok(())
}
