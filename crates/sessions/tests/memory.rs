//! The in-memory store passes the suites.

use std::sync::Arc;

use kernel::{Actor, Ctx, Env, ManualEnv, TenantId, UserId};
use sessions::{MemorySessions, conformance};

#[tokio::test]
async fn memory_store_passes_the_suites() {
    let env: Arc<dyn Env> = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let tenant = TenantId::new(&*env);
    let ctx = Ctx::new(env, tenant, Actor::system("test"));
    let (ada, bob) = (UserId::new(&*ctx.env), UserId::new(&*ctx.env));
    conformance::sessions(&ctx, &mut MemorySessions::default(), &ada, &bob).await;
    conformance::bound_sessions(&ctx, &mut MemorySessions::default(), &ada).await;
}
