//! PostgreSQL: a connection pool for each runtime.

mod client_certificate;
mod connect;
mod relay;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use audit::{Audited, EntryKeys};
use deadpool::managed::Timeouts;
use diesel_async::{
    AsyncPgConnection, SimpleAsyncConnection,
    pooled_connection::{
        AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod,
        deadpool::{Object, Pool},
    },
};
use futures_util::FutureExt;
use kernel::{Ctx, StoreError, StoreResult, TenantId};
use tokio::{
    runtime::Handle,
    sync::{OnceCell, Semaphore},
    time::{Instant, timeout},
};

pub(crate) use self::connect::PostgresTarget;
use crate::{
    Tx,
    across::Across,
    audit::export,
    authentication::reread::CredentialKey,
    conn::{Conn, Pg, Transaction},
    distribution,
    error::store_error,
    limits::{
        large_changes::LargeChanges,
        pool_metrics::PoolMetrics,
        queue_status::QueueStatus,
        scans::{self, Outcome, ScanPermit, Scans},
    },
    shards::TenantNews,
    tx::finish,
    webhooks::Listeners,
};

/// How long a unit of work waits for a connection.
const WAIT: Duration = Duration::from_secs(3);

/// Time limit of a unit of work. The server cancels statements earlier; this limit applies if the server does not
/// answer. The connection is then closed, so that it is not reused.
const LIMIT: Duration = Duration::from_secs(5);

/// A pool of connections to one database.
pub(crate) struct Postgres {
    target: PostgresTarget,
    size: usize,
    mine: RuntimePool,
    /// State shared by all runtimes.
    shared: Arc<SharedPools>,
    /// Notified of committed work.
    pub(crate) listeners: Listeners,
    /// Keys for the MACs of audit entries.
    entry_keys: EntryKeys,
}

/// State shared by the pools of one instance.
#[derive(Default)]
struct SharedPools {
    pools: Mutex<Vec<RuntimePool>>,
    scans: Arc<Scans>,
    large_changes: LargeChanges,
    /// Whether the database is distributed by tenant.
    distributed: OnceCell<bool>,
    /// Tenants with new audit entries, to be sealed by this instance. Only of a distributed database.
    news: TenantNews,
    /// The same, to be sent to other instances.
    unsent_news: TenantNews,
}

/// A runtime's pool and its queue.
#[derive(Clone)]
struct RuntimePool {
    pool: Pool<AsyncPgConnection>,
    waiting: Arc<QueueStatus>,
    /// Connections that scans may use: half of the pool, but at least one.
    scanners: Arc<Semaphore>,
}

impl Postgres {
    /// Creates a pool of at most `size` connections, which are opened on demand.
    pub(crate) fn new(url: &str, size: usize, entry_keys: EntryKeys) -> StoreResult<Self> {
        let target = PostgresTarget::parse(url).map_err(|problem| StoreError::Unavailable(problem.into()))?;
        Self::with(target, size, Arc::default(), Listeners::default(), entry_keys)
    }

    fn with(
        target: PostgresTarget,
        size: usize,
        shared: Arc<SharedPools>,
        listeners: Listeners,
        entry_keys: EntryKeys,
    ) -> StoreResult<Self> {
        let mut config = ManagerConfig::<AsyncPgConnection>::default();
        // Dead connections are detected on use. Testing them first would double the round trips.
        config.recycling_method = RecyclingMethod::Fast;
        let to = target.clone();
        config.custom_setup = Box::new(move |_| {
            let to = to.clone();
            async move { to.connect().await }.boxed()
        });
        let manager = AsyncDieselConnectionManager::new_with_config("", config);
        let pool = Pool::builder(manager)
            .max_size(size)
            .timeouts(Timeouts {
                wait: Some(WAIT),
                create: Some(connect::OPENED_WITHIN),
                recycle: Some(WAIT),
            })
            .runtime(deadpool::Runtime::Tokio1)
            .build()
            .map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        let scanners = Arc::new(Semaphore::new((size / 2).max(1)));
        let mine = RuntimePool { pool, waiting: Arc::default(), scanners };
        shared.pools.lock().unwrap_or_else(PoisonError::into_inner).push(mine.clone());
        Ok(Self { target, size, mine, shared, listeners, entry_keys })
    }

    /// Creates a pool for the calling runtime.
    pub(crate) fn for_this_runtime(&self) -> StoreResult<Self> {
        let (target, shared) = (self.target.clone(), Arc::clone(&self.shared));
        Self::with(target, self.size, shared, self.listeners.clone(), self.entry_keys.clone())
    }

    /// Opens a connection outside the pool.
    pub(crate) async fn connection(&self) -> StoreResult<AsyncPgConnection> {
        let opened = timeout(connect::OPENED_WITHIN, self.target.connect()).await;
        let opened = opened.map_err(|_| StoreError::Unavailable("no connection within 3 s".into()))?;
        opened.map_err(|error| StoreError::Unavailable(Box::new(error)))
    }

    /// Returns whether the connection is safe from interception.
    pub(crate) fn is_safe(&self) -> bool {
        self.target.is_safe()
    }

    /// Returns when the client certificate expires, in seconds since 1970; `None` without one.
    pub(crate) fn certificate_ends(&self) -> Option<i64> {
        self.target.certificate_ends()
    }

    /// Returns metrics summed over all pools.
    pub(crate) fn pool_metrics(&self) -> PoolMetrics {
        let all = self.shared.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let scans = &self.shared.scans;
        let mut figures = PoolMetrics {
            queues: vec![
                QueueStatus::sum("connection", all.iter().map(|mine| &mine.waiting)),
                QueueStatus::sum("scan", [&scans.turns.queue]),
                QueueStatus::sum("large_change", [&self.shared.large_changes.0.queue]),
            ],
            scans: scans.scan_metrics(),
            certificate_ends: self.certificate_ends(),
            ..PoolMetrics::default()
        };
        // Skips pools without connections, such as the one that the runtimes' pools were created from.
        for status in all.iter().map(|mine| mine.pool.status()).filter(|status| status.size > 0) {
            figures.open += status.size;
            figures.idle += status.available;
            figures.max += status.max_size;
        }
        figures
    }

    /// Returns whether the database is distributed by tenant.
    pub(crate) async fn is_distributed(&self) -> StoreResult<bool> {
        let ask = async || distribution::is_distributed(&mut self.connection().await?).await;
        self.shared.distributed.get_or_try_init(ask).await.copied()
    }

    /// Sets whether the database is distributed. Asks the database once.
    async fn ask_distributed(&self, across: &mut Across) -> StoreResult<()> {
        let Conn::Postgres(pg) = &mut across.conn else { return Ok(()) };
        let ask = async || distribution::is_distributed(&mut pg.object).await;
        across.is_distributed = *self.shared.distributed.get_or_try_init(ask).await?;
        Ok(())
    }

    /// Returns the tenants with new audit entries that this instance knows of.
    pub(crate) fn news(&self) -> &TenantNews {
        &self.shared.news
    }

    async fn get(&self) -> StoreResult<Object<AsyncPgConnection>> {
        let _place = self.mine.waiting.join();
        self.mine.pool.get().await.map_err(|error| StoreError::Unavailable(Box::new(error)))
    }

    /// Takes a connection without a transaction.
    async fn plain(&self) -> StoreResult<Conn> {
        Ok(Conn::Postgres(Box::new(Pg {
            object: self.get().await?,
            transaction: Transaction::None,
            reread: None,
        })))
    }

    pub(crate) async fn across<T>(
        &self,
        look: impl AsyncFnOnce(&mut Across) -> StoreResult<T>,
    ) -> StoreResult<T> {
        let mut unit = PooledUnit::new(Across { conn: self.plain().await?, is_distributed: false });
        let across = unit.holder()?;
        let look = async {
            self.ask_distributed(across).await?;
            look(across).await
        };
        let found = in_time(look).await?;
        unit.give_back();
        found
    }

    /// Runs a read without a transaction: it is a single statement and needs no BEGIN.
    pub(crate) async fn read<T, E: From<StoreError>>(
        &self,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut unit = PooledUnit::new(Tx::reading(self.plain().await?, tenant));
        let read = in_time(work(unit.holder()?)).await?;
        unit.give_back();
        read
    }

    /// Runs a scan when it gets its turn. Its statement is cancelled on timeout or if the future is dropped.
    pub(crate) async fn scan<T, E: From<StoreError>>(
        &self,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let turn = self.shared.scans.turn(&tenant, &self.mine.scanners).await?;
        let mut tx = Tx::reading(self.plain().await?, tenant);
        tx.until = Some((Instant::now() + scans::LIMIT / 2).into_std());
        let mut unit = PooledUnit::scanning(tx, self.target.clone(), turn);
        let Ok(done) = timeout(scans::LIMIT, work(unit.holder()?)).await else {
            unit.ended(Outcome::TooLong);
            return Err(StoreError::ScanTooLong(scans::LIMIT).into());
        };
        unit.ended(Outcome::Completed);
        unit.give_back();
        done
    }

    pub(crate) fn large_changes(&self) -> &LargeChanges {
        &self.shared.large_changes
    }

    /// Starts a unit of work with a snapshot on a connection of its own, so a long read does not block the pool.
    pub(crate) async fn snapshot(&self, tenant: TenantId) -> StoreResult<Tx> {
        let own =
            Self::with(self.target.clone(), 1, Arc::default(), Listeners::default(), EntryKeys::none())?;
        let mut object = own.get().await?;
        // The transaction is idle while the consumer processes a batch.
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = '{}s'",
            export::PATIENCE.as_secs() + 15
        );
        object.batch_execute(&begin).await.map_err(store_error)?;
        Ok(Tx::reading(
            Conn::Postgres(Box::new(Pg { object, transaction: Transaction::Open, reread: None })),
            tenant,
        ))
    }

    /// Runs one transaction. It is rolled back if it fails, panics or is dropped.
    pub(crate) async fn write<T, E: From<StoreError>>(
        &self,
        ctx: &Ctx,
        credential: Option<CredentialKey>,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E>,
    ) -> Result<T, E> {
        let pg = Pg { object: self.get().await?, transaction: Transaction::Due, reread: None };
        let conn = Conn::Postgres(Box::new(pg));
        let tx = Tx::writing(conn, ctx.tenant.clone(), credential, self.entry_keys.clone());
        in_time(self.transaction(PooledUnit::new(tx), ctx, work)).await?
    }

    async fn transaction<T, E: From<StoreError>>(
        &self,
        mut unit: PooledUnit<Tx>,
        ctx: &Ctx,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E>,
    ) -> Result<T, E> {
        let done = std::panic::AssertUnwindSafe(finish(ctx, unit.holder()?, work)).catch_unwind().await;
        match done {
            Ok(Ok(value)) => {
                let db = unit.holder().map(|tx| &mut tx.db)?;
                let (woken, entries) = (std::mem::take(&mut db.woken), db.entries);
                unit.commit().await?;
                woken.notify(&self.listeners, &ctx.tenant);
                if entries > 0 && self.shared.distributed.get() == Some(&true) {
                    self.shared.news.add(ctx.tenant.clone());
                    self.shared.unsent_news.add(ctx.tenant.clone());
                }
                Ok(value)
            }
            Ok(Err(error)) => {
                unit.rollback().await;
                Err(error)
            }
            Err(_) => {
                unit.rollback().await;
                Err(StoreError::Aborted("it panicked").into())
            }
        }
    }
}

/// Applies the time limit. When it expires, the work is dropped together with its connection.
///
/// Not an `async fn`: its future would contain the work twice, as parameter and while it is awaited.
fn in_time<T>(work: impl Future<Output = T>) -> impl Future<Output = StoreResult<T>> {
    let late = |_| StoreError::Unavailable(format!("no response from the database within {LIMIT:?}").into());
    timeout(LIMIT, work).map(move |done| done.map_err(late))
}

/// A unit of work on a pooled connection. If dropped early, its transaction is rolled back before the connection is
/// reused, and a connection that does not answer in time is closed.
struct PooledUnit<H: Holder> {
    holder: Option<H>,
    scan: Option<RunningScan>,
}

/// The additional state of a scan: its permit, and the server that cancels its statement.
struct RunningScan {
    target: PostgresTarget,
    turn: ScanPermit,
}

/// Time limit for the cleanup of a connection.
const CLEANUP_LIMIT: Duration = Duration::from_millis(500);

/// Owns a connection.
trait Holder {
    fn into_conn(self) -> Conn;
}

impl Holder for Tx {
    fn into_conn(self) -> Conn {
        Self::into_conn(self)
    }
}

impl Holder for Across {
    fn into_conn(self) -> Conn {
        self.conn
    }
}

impl<H: Holder> PooledUnit<H> {
    fn new(holder: H) -> Self {
        Self { holder: Some(holder), scan: None }
    }

    fn scanning(holder: H, target: PostgresTarget, turn: ScanPermit) -> Self {
        Self { holder: Some(holder), scan: Some(RunningScan { target, turn }) }
    }

    fn holder(&mut self) -> StoreResult<&mut H> {
        self.holder.as_mut().ok_or(StoreError::Aborted("it has already ended"))
    }

    /// Records how a scan ended.
    fn ended(&mut self, outcome: Outcome) {
        if let Some(scan) = &mut self.scan {
            scan.turn.ended(outcome);
        }
    }

    /// Returns the connection to the pool. No statement may be running.
    fn give_back(mut self) {
        self.holder = None;
    }
}

impl<H: Holder> Drop for PooledUnit<H> {
    fn drop(&mut self) {
        let Some(Conn::Postgres(pg)) = self.holder.take().map(H::into_conn) else { return };
        let Pg { mut object, transaction, .. } = *pg;
        let Ok(runtime) = Handle::try_current() else {
            return drop(Object::take(object));
        };
        let scan = self.scan.take();
        runtime.spawn(async move {
            let cancelled = match &scan {
                // Waits until the server has received the request, so that it cannot cancel the connection's next
                // statement.
                Some(scan) => timeout(CLEANUP_LIMIT, scan.target.cancel(object.cancel_token()))
                    .await
                    .is_ok_and(|sent| sent.is_ok()),
                None => true,
            };
            // The server answers this after any statement that is still running.
            let end = if transaction == Transaction::None { "" } else { "ROLLBACK" };
            if !cancelled || !matches!(timeout(CLEANUP_LIMIT, object.batch_execute(end)).await, Ok(Ok(()))) {
                drop(Object::take(object));
            }
            drop(scan);
        });
    }
}

impl PooledUnit<Tx> {
    async fn commit(mut self) -> StoreResult<()> {
        match self.transaction() {
            Transaction::None | Transaction::Due => {}
            Transaction::Open => self.end("COMMIT").await?,
            Transaction::Failed => {
                // The server would answer COMMIT with success although it rolled back.
                self.end("ROLLBACK").await?;
                return Err(StoreError::Aborted("it continued after a failed statement"));
            }
        }
        self.give_back();
        Ok(())
    }

    async fn rollback(mut self) {
        let begun = matches!(self.transaction(), Transaction::Open | Transaction::Failed);
        if !begun || self.end("ROLLBACK").await.is_ok() {
            self.give_back();
        }
    }

    fn transaction(&self) -> Transaction {
        self.holder.as_ref().map_or(Transaction::None, |tx| tx.db.transaction())
    }

    async fn end(&mut self, statement: &str) -> StoreResult<()> {
        let Some(tx) = &mut self.holder else { return Ok(()) };
        tx.db.end(statement).await
    }
}
