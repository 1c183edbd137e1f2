//! The in-memory store passes the suites.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use directory::{
    ConnectionAccountStore, ConnectionAccounts, MemoryPeople, NewTenant, Role, Tenant, Tier, conformance,
};
use kernel::{Actor, Ctx, Env, GroupId, ManualEnv, TenantId};

fn ctx() -> Ctx {
    let env: Arc<dyn Env> = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let tenant = TenantId::new(&*env);
    Ctx::new(env, tenant, Actor::system("test"))
}

#[tokio::test]
async fn memory_store_passes_the_suites() {
    let ctx = ctx();
    let new = NewTenant { slug: "acme".into(), name: "Acme".into(), tier: Tier::Standard };
    let mut store = MemoryPeople::default();
    conformance::tenant(&mut store, &Tenant::new(&*ctx.env, new).unwrap()).await;
    conformance::people(&ctx, &mut store).await;

    let mut store = MemoryPeople::default();
    let ada = conformance::person(&ctx, &mut store, "ada@example.com", Role::Member).await;
    let bob = conformance::person(&ctx, &mut store, "bob@example.com", Role::Admin).await;
    conformance::links(&ctx, &mut store, &ada, &bob).await;
    conformance::roles(&ctx, &mut store, &ada).await;
    let group = GroupId::new(&*ctx.env);
    store.set_group(group.clone(), [ada.id.clone(), bob.id.clone()]);
    conformance::rules(&ctx, &mut store, &group, &ada, &bob).await;
    store.set_connection_accounts("idp", &ConnectionAccounts::default()).await.unwrap();
    conformance::connections(&ctx, &mut store, "idp", &ada).await;
}
