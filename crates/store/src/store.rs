//! The door to either database.

use std::{path::PathBuf, str::FromStr, time::Duration};

use ::webhooks::Wakeups;
use audit::{Audited, EntryKeys, Filter};
use kernel::{Ctx, StoreError, StoreResult, TenantId};

use crate::{
    Across, CredentialKey, Export, ExportOutcome, Failure, PoolMetrics, TenantTurn, Tx,
    audit::export,
    migrate,
    postgres::{Postgres, PostgresTarget},
    sqlite::{self, Sqlite},
};

/// Where the data is.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// `sqlite:PATH`
    Sqlite(PathBuf),
    /// `postgres://…`; holds a password, so it cannot be printed.
    Postgres(String),
}

/// Not an address of a database we know: what to write. Names no part of the address but its options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseDatabaseUrlError(String);

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

/// A database. Each actix worker has one of its own ([`Store::for_this_runtime`]).
pub struct Store(Backend);

enum Backend {
    Postgres(Box<Postgres>),
    Sqlite(Sqlite),
}

impl Store {
    /// Opens a database. An SQLite file is made and brought to the present schema; PostgreSQL is not
    /// touched until it is used, with at most `pool` connections for each [`Store::for_this_runtime`]. The keys make the
    /// MACs of audit entries: with [`EntryKeys::none`] nothing can be committed that leaves an entry.
    pub fn open(url: &DatabaseUrl, pool: usize, entry_keys: EntryKeys) -> StoreResult<Self> {
        match url {
            DatabaseUrl::Sqlite(path) => Sqlite::open(path, entry_keys).map(Backend::Sqlite).map(Self),
            DatabaseUrl::Postgres(url) => {
                Postgres::new(url, pool, entry_keys).map(Box::new).map(Backend::Postgres).map(Self)
            }
        }
    }

    /// The same database for the runtime that calls: a connection belongs to the runtime that drives it.
    pub fn for_this_runtime(&self) -> StoreResult<Self> {
        match &self.0 {
            Backend::Postgres(postgres) => {
                postgres.for_this_runtime().map(Box::new).map(Backend::Postgres).map(Self)
            }
            Backend::Sqlite(sqlite) => Ok(Self(Backend::Sqlite(sqlite.for_this_runtime()))),
        }
    }

    /// Brings the database to the present schema; the names of what was applied. Needs a multi-threaded runtime.
    pub async fn migrate(&self) -> StoreResult<Vec<String>> {
        match &self.0 {
            Backend::Postgres(postgres) => migrate::postgres(postgres.connection().await?).await,
            // Done when it was opened.
            Backend::Sqlite(sqlite) => Ok(sqlite.applied.clone()),
        }
    }

    /// Whether [`Store::migrate`] would change something. Needs a multi-threaded runtime.
    pub async fn is_behind(&self) -> StoreResult<bool> {
        match &self.0 {
            Backend::Postgres(postgres) => migrate::postgres_is_behind(postgres.connection().await?).await,
            Backend::Sqlite(_) => Ok(false),
        }
    }

    /// Which subscriptions have something new, by all that is committed through this store and those made from it.
    pub fn news(&self) -> &Wakeups {
        match &self.0 {
            Backend::Postgres(postgres) => &postgres.news,
            Backend::Sqlite(sqlite) => &sqlite.writer.news,
        }
    }

    /// Tells other instances what is told to `out`, and tells `heard` what they tell, for ever. On SQLite there are none.
    pub async fn relay(&self, out: &Wakeups, heard: &Wakeups) {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.relay(out, heard).await,
            Backend::Sqlite(_) => std::future::pending().await,
        }
    }

    /// What the connections and queues of all runtimes look like just now.
    pub fn pool_metrics(&self) -> PoolMetrics {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.pool_metrics(),
            Backend::Sqlite(sqlite) => sqlite.pool_metrics(),
        }
    }

    /// Whether requests can be served: the database answers, and takes changes. Says what is wrong.
    pub async fn check(&self) -> StoreResult<()> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.across(async |across| across.takes_changes().await).await,
            Backend::Sqlite(sqlite) => sqlite.check().await,
        }
    }

    /// Whether a unit of work that has begun goes on when its future is dropped: on SQLite it runs on a
    /// thread of its own, on PostgreSQL in the future itself.
    pub fn finishes_alone(&self) -> bool {
        matches!(self.0, Backend::Sqlite(_))
    }

    /// Looks for what must be found before the tenant is known: by keys only, never more than a few rows.
    pub async fn across<T>(&self, look: impl AsyncFnOnce(&mut Across) -> StoreResult<T>) -> StoreResult<T> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.across(look).await,
            Backend::Sqlite(sqlite) => sqlite.across(look),
        }
    }

    /// Runs a unit of work that changes nothing: a change in it is refused. `work` awaits nothing but
    /// the [`Tx`].
    pub async fn read<T: Send + 'static, E: Failure>(
        &self,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.read(tenant, work).await,
            Backend::Sqlite(sqlite) => sqlite.readers.run(tenant, work).await,
        }
    }

    /// Runs a read whose work grows with the tenant ([`crate::Cost::Scan`]). Few run at the same time: one that does
    /// not get its turn soon is [`StoreError::TenantBusy`], one that takes longer than 2 s is
    /// [`StoreError::ScanTooLong`]. It is stopped when its future is dropped. `work` awaits nothing but the [`Tx`].
    pub async fn scan<T: Send + 'static, E: Failure>(
        &self,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.scan(tenant, work).await,
            Backend::Sqlite(sqlite) => sqlite.readers.scan(tenant, work).await,
        }
    }

    /// Entries of the ledger that match, newest first, so many at most, as they are at this moment: read no faster than
    /// they are taken, and for no longer than `limit`. When reading has ended, however it has, `ended` is told so and how many were handed over; where it
    /// cannot begin, it is dropped. `with_proofs`: each with its place in the log of the newest checkpoint.
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
                let tx = postgres.moment(tenant).await?;
                tokio::spawn(pump.run(Ok(tx)));
            }
            Backend::Sqlite(sqlite) => {
                let path = sqlite.path().to_owned();
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
                let runtime = runtime.map_err(|error| StoreError::Unavailable(Box::new(error)))?;
                let read = move || {
                    runtime.block_on(pump.run(sqlite::moment(&path, tenant)));
                    sqlite::shrink_wal(&path);
                };
                let thread = std::thread::Builder::new().name("export".into()).spawn(read);
                thread.map_err(|error| StoreError::Unavailable(Box::new(error)))?;
            }
        }
        export.await
    }

    /// Runs a unit of work that sees one moment, however long it takes, on a connection of its own. On SQLite it keeps the
    /// thread that awaits it.
    pub async fn at_one_moment<T, E: From<StoreError>>(
        &self,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut tx = match &self.0 {
            Backend::Postgres(postgres) => postgres.moment(tenant).await?,
            Backend::Sqlite(sqlite) => sqlite::moment(sqlite.path(), tenant)?,
        };
        tx.db.without_limit().await?;
        work(&mut tx).await
    }

    /// Waits for the right to make a change whose work grows with the tenant: few of a tenant run at the same time, and
    /// one that does not get its turn soon is [`StoreError::TenantBusy`].
    pub async fn large_change(&self, tenant: &TenantId) -> StoreResult<TenantTurn> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.large_changes().turn(tenant).await,
            Backend::Sqlite(sqlite) => sqlite.large_changes.turn(tenant).await,
        }
    }

    /// Runs a unit of work in one transaction with its audit entries: both are kept, or neither.
    /// `work` awaits nothing but the [`Tx`]. When this answers `Ok`, the change is durable.
    pub async fn write<T: Send + 'static, E: Failure>(
        &self,
        ctx: Ctx,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, E> {
        self.write_with(ctx, None, work).await
    }

    /// The same for the holder of a credential, which is read again when the transaction begins: see [`Tx::credential`].
    pub async fn write_with<T: Send + 'static, E: Failure>(
        &self,
        ctx: Ctx,
        credential: Option<CredentialKey>,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, E> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.write(&ctx, credential, work).await,
            Backend::Sqlite(sqlite) => sqlite.writer.run(ctx, credential, work).await,
        }
    }
}
