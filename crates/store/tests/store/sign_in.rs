//! Runs the generated sign-ins of the in-memory tests on both databases.

use std::sync::Arc;

use crate::support::{World, on_both};
use audit::Audited;
use directory::{NewTenant, Tenant, TenantStore, Tier};
use kernel::{Ctx, ManualEnv};
use sign_in::{
    Error,
    conformance::{Bench, sequence},
};
use store::{Store, Tx};

struct OnDatabase<'a>(&'a Store);

impl Bench for OnDatabase<'_> {
    type Store = Tx;

    async fn run<T: Send + 'static>(
        &mut self,
        ctx: Ctx,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.0.write(ctx, work).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_sign_ins_match_the_model() {
    on_both(async |world: World| {
        for seed in 0..4 {
            let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
            let slug = format!("acme-{seed}");
            let new = NewTenant { slug, name: "Acme".into(), tier: Tier::Standard };
            let tenant = Tenant::new(&*world.env, new).unwrap();
            let id = tenant.id.clone();
            world.change(&id, async move |_, tx| tx.insert_tenant(&tenant).await).await.unwrap();
            let seen = Box::pin(sequence(OnDatabase(&world.store), id, env, seed, 500)).await;
            println!("seed {seed}: {seen:?}");
        }
    })
    .await;
}
