//! Creates databases of both kinds with a clock and a tenant.

use std::sync::Arc;

use audit::{Audited, Event, events::users::UserDeactivated};
use kernel::{Actor, Ctx, Env, StoreResult, SystemEnv, TenantId};
use store::{
    Store, Tx,
    testing::{Kind, TestDatabase},
};

/// The environment of a test.
pub(crate) struct World {
    pub(crate) kind: Kind,
    database: TestDatabase,
    pub(crate) store: Store,
    pub(crate) env: Arc<dyn Env>,
    tenant: TenantId,
}

/// Creates a database of one kind.
pub(crate) async fn world(kind: Kind) -> World {
    let database = TestDatabase::new(kind).await;
    let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
    let tenant = TenantId::new(&*env);
    World { kind, store: database.store(), database, env, tenant }
}

/// Runs a test on SQLite and on PostgreSQL.
pub(crate) async fn on_both(test: impl AsyncFn(World)) {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        test(world(kind).await).await;
    }
}

impl World {
    pub(crate) fn ctx(&self) -> Ctx {
        Ctx::new(self.env.clone(), self.tenant.clone(), Actor::system("test"))
    }

    /// Opens the same file as another program would.
    pub(crate) fn raw_sqlite(&self) -> diesel::SqliteConnection {
        let store::DatabaseUrl::Sqlite(path) = &self.database.url else { panic!("not SQLite") };
        diesel::Connection::establish(path.to_str().unwrap()).unwrap()
    }

    /// Returns the URL of the PostgreSQL database.
    pub(crate) fn postgres(&self) -> &str {
        let store::DatabaseUrl::Postgres(url) = &self.database.url else { panic!("not PostgreSQL") };
        url
    }

    /// Opens the same database once more.
    pub(crate) fn reopened(&self) -> Store {
        self.database.store()
    }

    /// Runs an SQL statement that bypasses the server.
    pub(crate) async fn raw(&self, statement: &str) {
        match &self.database.url {
            store::DatabaseUrl::Sqlite(_) => {
                let mut conn = self.raw_sqlite();
                let busy = "PRAGMA busy_timeout = 5000; ";
                diesel::connection::SimpleConnection::batch_execute(&mut conn, &format!("{busy}{statement}"))
                    .unwrap();
            }
            store::DatabaseUrl::Postgres(url) => {
                let mut conn =
                    <diesel_async::AsyncPgConnection as diesel_async::AsyncConnection>::establish(url)
                        .await
                        .unwrap();
                // A distributed database refuses several statements in one message.
                for statement in statement.split_inclusive(';') {
                    diesel_async::SimpleAsyncConnection::batch_execute(&mut conn, statement).await.unwrap();
                }
            }
        }
    }

    pub(crate) fn other_tenant(&self) -> TenantId {
        TenantId::new(&*self.env)
    }

    /// Runs a unit of work with a placeholder audit entry.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let ctx = Ctx { tenant: tenant.clone(), ..self.ctx() };
        let unit = async move |ctx: &Ctx, tx: &mut Tx| {
            Ok(Audited::new(work(ctx, tx).await?, Event::new("test", &UserDeactivated {})))
        };
        self.store.write(ctx, unit).await
    }
}
