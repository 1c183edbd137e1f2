//! A database with a clock and a tenant, on both kinds.

use std::sync::Arc;

use audit::{Audited, Unaudited};
use kernel::{Actor, Ctx, Env, StoreError, SystemEnv, TenantId};
use store::{
    Store, Tx,
    testing::{Kind, TestDatabase},
};

/// What a test works in.
pub(crate) struct World {
    pub(crate) kind: Kind,
    /// Kept for its drop.
    _database: TestDatabase,
    pub(crate) store: Store,
    pub(crate) env: Arc<dyn Env>,
    tenant: TenantId,
}

/// Runs a test on SQLite and on PostgreSQL.
pub(crate) async fn on_both(test: impl AsyncFn(World)) {
    for kind in Kind::ALL {
        let database = TestDatabase::new(kind).await;
        let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
        let tenant = TenantId::new(&*env);
        println!("on {kind:?}");
        test(World { kind, store: database.store(), _database: database, env, tenant }).await;
    }
}

impl World {
    pub(crate) fn ctx(&self) -> Ctx {
        Ctx::new(self.env.clone(), self.tenant.clone(), Actor::system("test"))
    }

    pub(crate) fn other_tenant(&self) -> TenantId {
        TenantId::new(&*self.env)
    }

    /// A unit of work that only the test needs to know of.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let ctx = Ctx { tenant: tenant.clone(), ..self.ctx() };
        let unit = async move |ctx: &Ctx, tx: &mut Tx| {
            Ok(Audited::without(work(ctx, tx).await?, Unaudited::NothingChanged))
        };
        self.store.write(ctx, unit).await
    }
}
