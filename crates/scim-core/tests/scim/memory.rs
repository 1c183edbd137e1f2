//! Runs the conformance suite on the in-memory store.

use std::sync::Arc;

use kernel::{Actor, Ctx, ManualEnv, TenantId};
use scim_core::{conformance, memory::MemoryStore};

#[tokio::test]
async fn memory_store_conforms() {
    let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let tenant = TenantId::new(&*env);
    let ctx = Ctx::new(env, tenant, Actor::system("test"));
    conformance::users(&ctx, &mut MemoryStore::new()).await;
    conformance::groups(&ctx, &mut MemoryStore::new()).await;
}
