//! Compares thousands of generated requests in memory with a reference model.

use std::sync::Arc;

use kernel::{ManualEnv, TenantId};
use scim_core::{
    conformance::{ActionCounts, sequence},
    memory::MemoryStore,
};

#[tokio::test]
async fn generated_requests_match_the_model() {
    let mut seen = ActionCounts::new();
    for seed in 0..100 {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        for (answer, count) in sequence(&mut MemoryStore::new(), &tenant, &env, seed, 30).await {
            *seen.entry(answer).or_default() += count;
        }
    }
    for kind in ["Users", "Groups"] {
        for answer in [
            format!("POST {kind} 201"),
            format!("POST {kind} 409"),
            format!("PUT {kind} 200"),
            format!("PUT {kind} 404"),
            format!("PUT {kind} 409"),
            format!("PATCH {kind} 200"),
            format!("PATCH {kind} 404"),
            format!("PATCH {kind} 409"),
            format!("DELETE {kind} 204"),
            format!("DELETE {kind} 404"),
        ] {
            let count = seen.get(&answer).copied().unwrap_or_default();
            assert!(count >= 3, "{answer} was returned too rarely: {seen:?}");
        }
    }
    assert!(seen["PATCH Groups 400"] >= 5 && seen["POST Groups 400"] >= 5, "{seen:?}");
}
