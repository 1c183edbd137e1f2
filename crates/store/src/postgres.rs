//! PostgreSQL: a pool that belongs to the runtime which drives its connections.

use std::time::Duration;

use audit::Audited;
use deadpool::managed::Timeouts;
use diesel::ConnectionError;
use diesel_async::{
    AsyncConnection, AsyncPgConnection, SimpleAsyncConnection,
    pooled_connection::{
        AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod,
        deadpool::{Object, Pool},
    },
};
use futures_util::FutureExt;
use kernel::{Ctx, StoreError, TenantId};

use crate::{
    Tx,
    across::Across,
    conn::{Conn, Pg, Transaction},
    error::store_error,
    tx::finish,
};

/// How long a unit of work waits for a connection.
const WAIT: Duration = Duration::from_secs(5);

/// Said to the server on every new connection: nothing of ours holds a lock or a processor for longer.
const SETUP: &str = "SET statement_timeout = '15s'; SET lock_timeout = '5s'; \
                     SET idle_in_transaction_session_timeout = '30s'";

/// A pool of connections to one database.
pub(crate) struct Postgres {
    url: String,
    size: usize,
    pool: Pool<AsyncPgConnection>,
}

impl Postgres {
    /// A pool of at most `size` connections, opened when they are needed.
    pub(crate) fn new(url: &str, size: usize) -> Result<Self, StoreError> {
        let mut config = ManagerConfig::<AsyncPgConnection>::default();
        // A connection that died is noticed at its next use; asking first would double the round trips.
        config.recycling_method = RecyclingMethod::Fast;
        config.custom_setup = Box::new(|url| connect(url.to_owned()).boxed());
        let manager = AsyncDieselConnectionManager::new_with_config(url, config);
        let pool = Pool::builder(manager)
            .max_size(size)
            .timeouts(Timeouts { wait: Some(WAIT), create: Some(WAIT), recycle: Some(WAIT) })
            .runtime(deadpool::Runtime::Tokio1)
            .build()
            .map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        Ok(Self { url: url.to_owned(), size, pool })
    }

    /// A pool of its own for the runtime that calls.
    pub(crate) fn for_this_runtime(&self) -> Result<Self, StoreError> {
        Self::new(&self.url, self.size)
    }

    /// A connection outside the pool.
    pub(crate) async fn connection(&self) -> Result<AsyncPgConnection, StoreError> {
        connect(self.url.clone()).await.map_err(|error| StoreError::Unavailable(Box::new(error)))
    }

    async fn get(&self) -> Result<Object<AsyncPgConnection>, StoreError> {
        self.pool.get().await.map_err(|error| StoreError::Unavailable(Box::new(error)))
    }

    /// A connection on which each statement is for itself.
    async fn plain(&self) -> Result<Conn, StoreError> {
        Ok(Conn::Postgres(Box::new(Pg { object: self.get().await?, transaction: Transaction::None })))
    }

    pub(crate) async fn across<T>(
        &self,
        look: impl AsyncFnOnce(&mut Across) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        look(&mut Across { conn: self.plain().await? }).await
    }

    /// Each statement for itself: a read is one statement, and one needs no BEGIN.
    pub(crate) async fn read<T, E: From<StoreError>>(
        &self,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        work(&mut Tx::reading(self.plain().await?, tenant)).await
    }

    /// One transaction. Dropped, refused or panicking, nothing of it remains.
    pub(crate) async fn write<T, E: From<StoreError>>(
        &self,
        ctx: &Ctx,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E>,
    ) -> Result<T, E> {
        let mut open = Open::begin(self.get().await?, ctx.tenant.clone());
        let done = std::panic::AssertUnwindSafe(finish(ctx, open.tx()?, work)).catch_unwind().await;
        match done {
            Ok(Ok(value)) => {
                open.commit().await?;
                Ok(value)
            }
            Ok(Err(error)) => {
                open.rollback().await;
                Err(error)
            }
            Err(_) => {
                open.rollback().await;
                Err(StoreError::Aborted("it panicked").into())
            }
        }
    }
}

async fn connect(url: String) -> Result<AsyncPgConnection, ConnectionError> {
    let mut conn = AsyncPgConnection::establish(&url).await?;
    conn.batch_execute(SETUP).await.map_err(ConnectionError::CouldntSetupConfiguration)?;
    Ok(conn)
}

/// An open transaction. Dropped in the middle it takes its connection out of the pool and closes it,
/// so that the server rolls back at once and nobody inherits the rest.
struct Open(Option<Tx>);

impl Open {
    fn begin(object: Object<AsyncPgConnection>, tenant: TenantId) -> Self {
        let pg = Pg { object, transaction: Transaction::Due };
        Self(Some(Tx::writing(Conn::Postgres(Box::new(pg)), tenant)))
    }

    fn tx(&mut self) -> Result<&mut Tx, StoreError> {
        self.0.as_mut().ok_or(StoreError::Aborted("it is over"))
    }

    async fn commit(mut self) -> Result<(), StoreError> {
        match self.transaction() {
            Transaction::None | Transaction::Due => {}
            Transaction::Open => self.end("COMMIT").await?,
            Transaction::Failed => {
                // The server would answer COMMIT with success and keep nothing.
                self.end("ROLLBACK").await?;
                return Err(StoreError::Aborted("it went on after a failed statement"));
            }
        }
        self.0 = None;
        Ok(())
    }

    async fn rollback(mut self) {
        let begun = matches!(self.transaction(), Transaction::Open | Transaction::Failed);
        if !begun || self.end("ROLLBACK").await.is_ok() {
            self.0 = None;
        }
    }

    fn transaction(&self) -> Transaction {
        match &self.0 {
            Some(Tx { conn: Conn::Postgres(pg), .. }) => pg.transaction,
            _ => Transaction::None,
        }
    }

    async fn end(&mut self, statement: &str) -> Result<(), StoreError> {
        let Some(Tx { conn: Conn::Postgres(pg), .. }) = &mut self.0 else { return Ok(()) };
        pg.object.batch_execute(statement).await.map_err(store_error)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(Conn::Postgres(pg)) = self.0.take().map(Tx::into_conn) {
            drop(Object::take(pg.object));
        }
    }
}
