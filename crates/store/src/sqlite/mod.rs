//! SQLite: one thread writes, several connections read.

mod interrupt;
mod opening;
mod readers;
mod wal;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use audit::EntryKeys;
use diesel::connection::SimpleConnection;
use kernel::{StoreResult, TenantId};

pub(crate) use self::opening::open;
pub(crate) use self::wal::shrink_wal;
use self::{
    opening::{WAITED, at_once, open_reader},
    readers::Readers,
    writer::Writer,
};
use crate::{
    Tx,
    across::Across,
    conn::Conn,
    error::store_error,
    limits::{large_changes::LargeChanges, pool_metrics::PoolMetrics, queue_status::QueueStatus},
    migrate,
    scim_core::users::refold,
    sqlite_conn::{Inline, SqliteConn},
};

/// A database file.
pub(crate) struct Sqlite {
    path: PathBuf,
    /// The migrations applied on opening.
    pub(crate) applied: Vec<String>,
    /// Runs units of work that write.
    pub(crate) writer: Arc<Writer>,
    /// Runs units of work that only read.
    pub(crate) readers: Arc<Readers>,
    pub(crate) large_changes: Arc<LargeChanges>,
    /// A connection for lookups of one row by key. They run on the calling thread, because a hop to another would
    /// cost more.
    nearby: Mutex<Option<SqliteConn>>,
}

impl Sqlite {
    /// Opens the file, creating and migrating it if necessary.
    pub(crate) fn open(path: &Path, entry_keys: EntryKeys) -> StoreResult<Self> {
        let mut conn = open(path, "")?;
        wal::enable(&mut conn)?;
        let applied = migrate::sqlite(&mut conn)?;
        let mut conn = SqliteConn::with_runtime(conn, Inline);
        at_once(refold::sqlite::refold(&mut conn)).unwrap_or(Err(WAITED))?;
        let writer = Writer::start(conn, path, entry_keys)?;
        Ok(Self {
            path: path.to_owned(),
            applied,
            writer: Arc::new(writer),
            readers: Arc::new(Readers::new(path)),
            large_changes: Arc::default(),
            nearby: Mutex::new(None),
        })
    }

    /// Returns a handle to the same database with its own connection for lookups.
    pub(crate) fn for_this_runtime(&self) -> Self {
        Self {
            path: self.path.clone(),
            applied: Vec::new(),
            writer: Arc::clone(&self.writer),
            readers: Arc::clone(&self.readers),
            large_changes: Arc::clone(&self.large_changes),
            nearby: Mutex::new(None),
        }
    }

    /// Returns metrics of the readers and the writer.
    pub(crate) fn pool_metrics(&self) -> PoolMetrics {
        let (open, idle, max) = self.readers.counts();
        let queue = QueueStatus::sum;
        let scans = &self.readers.scans;
        let queues = vec![
            queue("reader", [&self.readers.waiting]),
            queue("writer", [&self.writer.waiting]),
            queue("scan", [&scans.turns.queue]),
            queue("large_change", [&self.large_changes.0.queue]),
        ];
        let wal_bytes = Some(wal::size(&self.path));
        let scans = scans.scan_metrics();
        PoolMetrics { open, idle, max, queues, scans, wal_bytes, certificate_ends: None }
    }

    /// Checks that the file can be read and written.
    pub(crate) async fn check(&self) -> StoreResult<()> {
        self.across(async |across| across.nothing().await)?;
        self.writer.check().await
    }

    /// Returns the file's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn across<T>(&self, look: impl AsyncFnOnce(&mut Across) -> StoreResult<T>) -> StoreResult<T> {
        let take = || self.nearby.lock().unwrap_or_else(PoisonError::into_inner).take();
        let conn = match take() {
            Some(conn) => conn,
            None => open_reader(&self.path)?,
        };
        let mut across = Across { conn: Conn::Sqlite(conn), is_distributed: false };
        let result = at_once(look(&mut across)).unwrap_or(Err(WAITED));
        if let Conn::Sqlite(conn) = across.conn {
            *self.nearby.lock().unwrap_or_else(PoisonError::into_inner) = Some(conn);
        }
        result
    }
}

/// Starts a unit of work with a snapshot on a connection of its own, with a page cache of this size.
pub(crate) fn snapshot(path: &Path, tenant: TenantId, cache_kib: u32) -> StoreResult<Tx> {
    let mut conn = open(path, &format!("PRAGMA query_only = ON; PRAGMA cache_size = -{cache_kib};"))?;
    conn.batch_execute("BEGIN").map_err(store_error)?;
    Ok(Tx::reading(Conn::Sqlite(SqliteConn::with_runtime(conn, Inline)), tenant))
}
