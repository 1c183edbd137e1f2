//! Compares thousands of generated steps in memory with a reference model.

use std::sync::Arc;

use kernel::{ManualEnv, TenantId, UserId};
use sessions::{
    MemorySessions,
    conformance::{ActionCounts, sequence},
};

#[tokio::test]
async fn generated_sessions_match_the_model() {
    let mut seen = ActionCounts::new();
    for seed in 0..300 {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        let users = [UserId::new(&*env), UserId::new(&*env)];
        for (answer, count) in sequence(&mut MemorySessions::default(), &tenant, users, &env, seed, 40).await
        {
            *seen.entry(answer).or_default() += count;
        }
    }
    for answer in [
        "open true",
        "open false",
        "revoke true",
        "revoke false",
        "revoke unknown",
        "revoke all 0",
        "revoke all 1",
        "refuse ",
        "renew ",
        "use ",
    ] {
        let count = seen.get(answer).copied().unwrap_or_default();
        assert!(count >= 20, "{answer} was returned too rarely: {seen:?}");
    }
}
