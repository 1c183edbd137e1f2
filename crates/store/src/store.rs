//! The entry point to either database.

use std::{collections::BTreeSet, path::PathBuf, str::FromStr, time::Duration};

use ::webhooks::Wakeups;
use audit::{Audited, EntryKeys, Filter};
use kernel::{Ctx, StoreError, StoreResult, TenantId};

use crate::{
    Across, CredentialKey, Export, ExportOutcome, Failure, PoolMetrics, TenantTurn, Tx,
    audit::export,
    distribution::{self, DistributeError},
    migrate,
    postgres::{Postgres, PostgresTarget},
    sqlite::{self, Sqlite},
};

/// The location of the data.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// `sqlite:PATH`
    Sqlite(PathBuf),
    /// `postgres://…`. Cannot be printed, because it holds a password.
    Postgres(String),
}

/// An unsupported database URL. The message says what to write and contains no part of the URL but its options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseDatabaseUrlError(String);

impl DatabaseUrl {
    /// Returns the file with the private key of the client certificate for PostgreSQL (`sslkey`).
    pub fn key_file(&self) -> Option<PathBuf> {
        let Self::Postgres(url) = self else { return None };
        let (_, query) = url.split_once('?')?;
        let key = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "sslkey");
        key.map(|(_, path)| PathBuf::from(&*path))
    }

    /// Returns whether the database exists, as far as this is known without a connection: an SQLite file may be
    /// missing.
    pub fn may_exist(&self) -> bool {
        match self {
            Self::Sqlite(path) => path.exists(),
            Self::Postgres(_) => true,
        }
    }
}

impl FromStr for DatabaseUrl {
    type Err = ParseDatabaseUrlError;

    fn from_str(text: &str) -> Result<Self, ParseDatabaseUrlError> {
        match text.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::Sqlite(path.into())),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                PostgresTarget::parse(text).map_err(ParseDatabaseUrlError)?;
                Ok(Self::Postgres(text.to_owned()))
            }
            _ => Err(ParseDatabaseUrlError(
                "write sqlite:PATH or postgres://user:password@host/database".into(),
            )),
        }
    }
}

/// A database. Each actix worker has its own handle ([`Store::for_this_runtime`]).
///
/// The futures of units of work on PostgreSQL take several kilobytes. They are boxed here, because the futures around them
/// would grow with them, and all are copied more than once.
pub struct Store(Backend);

enum Backend {
    Postgres(Box<Postgres>),
    Sqlite(Sqlite),
}

impl Store {
    /// Opens a database. An SQLite file is created and migrated if necessary. PostgreSQL is contacted on first use,
    /// with at most `pool` connections per [`Store::for_this_runtime`]. The keys compute the MACs of audit entries;
    /// with [`EntryKeys::none`] no unit of work with audit entries can commit.
    pub fn open(url: &DatabaseUrl, pool: usize, entry_keys: EntryKeys) -> StoreResult<Self> {
        match url {
            DatabaseUrl::Sqlite(path) => Sqlite::open(path, entry_keys).map(Backend::Sqlite).map(Self),
            DatabaseUrl::Postgres(url) => {
                Postgres::new(url, pool, entry_keys).map(Box::new).map(Backend::Postgres).map(Self)
            }
        }
    }

    /// Returns a handle for the calling runtime, because a connection belongs to the runtime that drives it.
    pub fn for_this_runtime(&self) -> StoreResult<Self> {
        match &self.0 {
            Backend::Postgres(postgres) => {
                postgres.for_this_runtime().map(Box::new).map(Backend::Postgres).map(Self)
            }
            Backend::Sqlite(sqlite) => Ok(Self(Backend::Sqlite(sqlite.for_this_runtime()))),
        }
    }

    /// Applies pending migrations and returns their names.
    pub async fn migrate(&self) -> StoreResult<Vec<String>> {
        match &self.0 {
            Backend::Postgres(postgres) => migrate::postgres(postgres.connection().await?).await,
            // Already done on opening.
            Backend::Sqlite(sqlite) => Ok(sqlite.applied.clone()),
        }
    }

    /// Returns whether migrations are pending.
    pub async fn is_behind(&self) -> StoreResult<bool> {
        match &self.0 {
            Backend::Postgres(postgres) => migrate::postgres_is_behind(postgres.connection().await?).await,
            Backend::Sqlite(_) => Ok(false),
        }
    }

    /// Returns the wakeups for subscriptions with new work, committed through this store or a handle made from it.
    pub fn wakeups(&self) -> &Wakeups {
        match &self.0 {
            Backend::Postgres(postgres) => &postgres.listeners.wakeups,
            Backend::Sqlite(sqlite) => &sqlite.writer.listeners.wakeups,
        }
    }

    /// Returns the announcements of events for streams of shared signals, committed through this store or a handle made from
    /// it.
    pub fn signal_news(&self) -> &::signals::News {
        match &self.0 {
            Backend::Postgres(postgres) => &postgres.listeners.signals,
            Backend::Sqlite(sqlite) => &sqlite.writer.listeners.signals,
        }
    }

    /// Sends the wakeups of `out` to other instances and passes incoming ones to `received`. Never returns. SQLite has
    /// no other instances.
    pub async fn relay(&self, out: &Wakeups, received: &Wakeups) {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.relay(out, received).await,
            Backend::Sqlite(_) => std::future::pending().await,
        }
    }

    /// Returns metrics of the connections and queues of all runtimes.
    pub fn pool_metrics(&self) -> PoolMetrics {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.pool_metrics(),
            Backend::Sqlite(sqlite) => sqlite.pool_metrics(),
        }
    }

    /// Checks that the database answers and accepts writes.
    pub async fn check(&self) -> StoreResult<()> {
        match &self.0 {
            Backend::Postgres(postgres) => {
                postgres.across(async |across| across.check_writable().await).await
            }
            Backend::Sqlite(sqlite) => sqlite.check().await,
        }
    }

    /// Returns whether the database is distributed by tenant. Asked once per process.
    pub(crate) async fn is_distributed(&self) -> StoreResult<bool> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.is_distributed().await,
            Backend::Sqlite(_) => Ok(false),
        }
    }

    /// Returns the tenants with new audit entries since the last call, if the database is distributed.
    pub(crate) fn news(&self) -> BTreeSet<TenantId> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.news().take(),
            Backend::Sqlite(_) => BTreeSet::new(),
        }
    }

    /// Distributes the tables by tenant and returns the statements, or only returns them with `dry_run`. If all are
    /// distributed, it returns none. The server must be stopped: the tables are locked until all rows are copied.
    pub async fn distribute(&self, shards: u16, dry_run: bool) -> Result<Vec<String>, DistributeError> {
        let Backend::Postgres(postgres) = &self.0 else { return Err(DistributeError::NotPostgres) };
        if migrate::is_pending(&mut postgres.connection().await?).await? {
            return Err(DistributeError::Behind);
        }
        distribution::distribute(&mut postgres.connection().await?, shards, dry_run).await
    }

    /// Returns the nodes of a distributed database that do not answer, as `host:port`. Requests of their tenants fail
    /// until they do.
    pub async fn silent_nodes(&self) -> StoreResult<Vec<String>> {
        if !self.is_distributed().await? {
            return Ok(Vec::new());
        }
        self.across(async |across: &mut Across| across.silent_nodes().await).await
    }

    /// Returns whether several servers may use the database.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.0, Backend::Postgres(_))
    }

    /// Returns whether a started unit of work continues when its future is dropped. On SQLite it runs on a thread of
    /// its own; on PostgreSQL it runs in the future itself.
    pub fn continues_when_dropped(&self) -> bool {
        matches!(self.0, Backend::Sqlite(_))
    }

    /// Runs lookups before the tenant is known. They must use keys and read only a few rows.
    pub async fn across<T>(&self, look: impl AsyncFnOnce(&mut Across) -> StoreResult<T>) -> StoreResult<T> {
        match &self.0 {
            Backend::Postgres(postgres) => Box::pin(postgres.across(look)).await,
            Backend::Sqlite(sqlite) => sqlite.across(look),
        }
    }

    /// Runs a read-only unit of work; a change in it fails. `work` must await nothing but the [`Tx`].
    pub async fn read<T: Send + 'static, E: Failure>(
        &self,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        match &self.0 {
            Backend::Postgres(postgres) => Box::pin(postgres.read(tenant, work)).await,
            Backend::Sqlite(sqlite) => sqlite.readers.run(tenant, work).await,
        }
    }

    /// Runs a read whose work grows with the tenant ([`crate::Cost::Scan`]). Few run at the same time: one that does
    /// not get its turn in time fails with [`StoreError::TenantBusy`], one that takes longer than 2 s with
    /// [`StoreError::ScanTooLong`]. It stops when its future is dropped. `work` must await nothing but the [`Tx`].
    pub async fn scan<T: Send + 'static, E: Failure>(
        &self,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        match &self.0 {
            Backend::Postgres(postgres) => Box::pin(postgres.scan(tenant, work)).await,
            Backend::Sqlite(sqlite) => sqlite.readers.scan(tenant, work).await,
        }
    }

    /// Streams at most `most` matching audit entries, newest first, from one snapshot. Reading pauses when the
    /// consumer is slow and ends after `limit`. `ended` is called with the outcome and the number of entries sent; if
    /// reading cannot start, it is dropped. With `with_proofs`, each sealed entry has its inclusion proof for the
    /// newest checkpoint.
    pub async fn export(
        &self,
        tenant: TenantId,
        filter: Filter,
        most: usize,
        with_proofs: bool,
        limit: Duration,
        ended: impl FnOnce(ExportOutcome, u64) + Send + 'static,
    ) -> StoreResult<Export> {
        let (pump, export) = export::begin(filter, most, with_proofs, limit, Box::new(ended));
        match &self.0 {
            Backend::Postgres(postgres) => {
                let tx = postgres.snapshot(tenant).await?;
                tokio::spawn(pump.run(Ok(tx)));
            }
            Backend::Sqlite(sqlite) => {
                let path = sqlite.path().to_owned();
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
                let runtime = runtime.map_err(|error| StoreError::Unavailable(Box::new(error)))?;
                let read = move || {
                    // An export reads in the order of an index: a large cache would only hold pages that are not
                    // read again.
                    runtime.block_on(pump.run(sqlite::snapshot(&path, tenant, 1_000)));
                    sqlite::shrink_wal(&path);
                };
                let thread = std::thread::Builder::new().name("export".into()).spawn(read);
                thread.map_err(|error| StoreError::Unavailable(Box::new(error)))?;
            }
        }
        export.await
    }

    /// Runs a unit of work without a time limit on one snapshot, on a connection of its own. On SQLite it blocks the
    /// calling thread.
    pub async fn on_snapshot<T, E: From<StoreError>>(
        &self,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut tx = match &self.0 {
            Backend::Postgres(postgres) => postgres.snapshot(tenant).await?,
            Backend::Sqlite(sqlite) => sqlite::snapshot(sqlite.path(), tenant, 8_000)?,
        };
        tx.db.without_limit().await?;
        work(&mut tx).await
    }

    /// Waits for permission to make a change whose work grows with the tenant. Few run at the same time per tenant;
    /// one that does not get its turn in time fails with [`StoreError::TenantBusy`].
    pub async fn large_change(&self, tenant: &TenantId) -> StoreResult<TenantTurn> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.large_changes().turn(tenant).await,
            Backend::Sqlite(sqlite) => sqlite.large_changes.turn(tenant).await,
        }
    }

    /// Runs a unit of work and records its audit entries in the same transaction. When this returns `Ok`, the change
    /// is durable. `work` must await nothing but the [`Tx`].
    pub async fn write<T: Send + 'static, E: Failure>(
        &self,
        ctx: Ctx,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, E> {
        self.write_with(ctx, None, work).await
    }

    /// Runs a unit of work for the holder of a credential, which is read again when the transaction begins: see
    /// [`Tx::credential`].
    pub async fn write_with<T: Send + 'static, E: Failure>(
        &self,
        ctx: Ctx,
        credential: Option<CredentialKey>,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, E> {
        match &self.0 {
            Backend::Postgres(postgres) => Box::pin(postgres.write(&ctx, credential, work)).await,
            Backend::Sqlite(sqlite) => sqlite.writer.run(ctx, credential, work).await,
        }
    }
}
