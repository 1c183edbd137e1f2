//! Measures the CPU time of validating an ID token: `cargo run --release -p gatehouse-oidc-rp --example validation_cost`.
#![expect(clippy::unwrap_used, reason = "an example ends at the first error")]

use std::time::Instant;

use kernel::{Env, Secret, SystemEnv};
use oidc_rp::{
    Algorithm, Expected, KeySet,
    conformance::{TestProvider, expected},
    examine,
};

/// Tokens per measurement.
const TOKENS: u32 = 200;
/// Measurements, of which the median counts.
const ROUNDS: usize = 9;

fn main() {
    let (env, provider) = (SystemEnv::default(), TestProvider::default());
    let keys = KeySet::parse(&provider.key_set()).unwrap();
    let (now, secret) = (env.now(), Secret::new("secret".to_owned()));
    let expected = expected("nonce", &secret, now);
    let plain = provider.claims("nonce", now);
    let mut large = plain.clone();
    let groups: Vec<_> = (0..200).map(|number| format!("00000000-0000-0000-0000-{number:012}")).collect();
    large.insert("groups".to_owned(), groups.into());
    for (name, claims) in [("10 claims", &plain), ("200 groups", &large)] {
        for algorithm in
            [Algorithm::RS256, Algorithm::PS512, Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA]
        {
            let token = provider.token(algorithm, claims);
            let mut micros: Vec<_> = (0..ROUNDS).map(|_| measure(&token, &keys, &expected)).collect();
            micros.sort_by(f64::total_cmp);
            let median = micros.get(ROUNDS / 2).copied().unwrap_or_default();
            println!("{} with {name}, {} bytes: {median:.0} µs", algorithm.as_str(), token.len());
        }
    }
}

/// Returns the microseconds per token.
fn measure(token: &str, keys: &KeySet, expected: &Expected<'_>) -> f64 {
    let start = Instant::now();
    for _ in 0..TOKENS {
        examine(token, keys, expected).into_result().unwrap();
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(TOKENS)
}
