//! Compares thousands of generated step-ups in memory with a reference model.

use std::sync::Arc;

use kernel::{ManualEnv, TenantId};
use stepup::{
    MemoryStore,
    conformance::{ActionCounts, sequence},
};

#[tokio::test]
async fn generated_step_ups_match_the_model() {
    let mut seen = ActionCounts::new();
    for seed in 0..300 {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        for (answer, count) in sequence(&mut MemoryStore::default(), &tenant, &env, seed, 40).await {
            *seen.entry(answer).or_default() += count;
        }
    }
    for answer in [
        "begin begun",
        "answer issued",
        "answer FactorInvalid",
        "answer ChallengeInvalid",
        "consume consumed",
        "consume EXPIRED",
        "consume PURPOSE_MISMATCH",
        "consume USER_MISMATCH",
        "consume SESSION_MISMATCH",
        "consume IP_MISMATCH",
        "consume ALREADY_USED",
        "consume REVOKED",
        "revoke 0",
        "revoke 1",
        "status usable",
        "status none",
    ] {
        let count = seen.get(answer).copied().unwrap_or_default();
        assert!(count >= 20, "{answer} was returned too rarely: {seen:?}");
    }
}
