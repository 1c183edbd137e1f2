//! Reads. A unit of work runs on a blocking thread of the runtime; a scan has a thread of its own.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use kernel::{StoreError, StoreResult, TenantId};
use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};

use super::{
    interrupt::{Limit, StopReason, within},
    opening::{WAITED, at_once, open_reader},
};
use crate::{
    Failure, Tx,
    conn::Conn,
    limits::{
        queue_status::QueueStatus,
        scans::{self, Outcome, ScanPermit, Scans},
    },
    sqlite_conn::SqliteConn,
};

/// Maximum number of concurrent reading connections.
const READERS: usize = 8;
/// Connections that scans may use. The other half is for indexed reads.
const SCANNERS: usize = READERS / 2;
/// How long a unit of work waits for a connection.
const WAIT: Duration = Duration::from_secs(3);
/// Time limit of a unit of work.
const LIMIT: Duration = Duration::from_secs(4);

pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<SqliteConn>>,
    permits: Arc<Semaphore>,
    scanners: Arc<Semaphore>,
    pub(super) waiting: Arc<QueueStatus>,
    pub(super) scans: Arc<Scans>,
}

/// Stops the unit of work when its future is dropped.
struct AbandonOnDrop(Arc<AtomicBool>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            idle: Mutex::new(Vec::new()),
            permits: Arc::new(Semaphore::new(READERS)),
            scanners: Arc::new(Semaphore::new(SCANNERS)),
            waiting: Arc::default(),
            scans: Arc::default(),
        }
    }

    /// Returns the number of open and idle connections, and the maximum.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).len();
        (idle + READERS - self.permits.available_permits(), idle, READERS)
    }

    /// Runs an indexed read. It stops early when its future is dropped.
    pub(crate) async fn run<T: Send + 'static, E: Failure>(
        self: &Arc<Self>,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.on_a_thread(tenant, LIMIT, None, work).await
    }

    /// Runs a scan when it gets its turn.
    pub(crate) async fn scan<T: Send + 'static, E: Failure>(
        self: &Arc<Self>,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let turn = self.scans.turn(&tenant, &self.scanners).await?;
        self.on_a_thread(tenant, scans::LIMIT, Some(turn), work).await
    }

    async fn on_a_thread<T: Send + 'static, E: Failure>(
        self: &Arc<Self>,
        tenant: TenantId,
        limit: Duration,
        turn: Option<ScanPermit>,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let place = self.waiting.join();
        let permit = timeout(WAIT, Arc::clone(&self.permits).acquire_owned()).await;
        drop(place);
        let Ok(Ok(permit)) = permit else {
            return Err(StoreError::Unavailable("all readers are busy".into()).into());
        };
        let readers = Arc::clone(self);
        let abandoned = Arc::new(AtomicBool::new(false));
        let abandoning = AbandonOnDrop(Arc::clone(&abandoned));
        let is_scan = turn.is_some();
        let (answer, answered) = oneshot::channel();
        // If the client disconnects, SQLite stops at its next check of the limit. The connection is always returned.
        let read = move || {
            let result = readers.on_this_thread(tenant, Limit::new(limit, abandoned), limit, turn, work);
            drop(permit);
            let _gone = answer.send(result);
        };
        if is_scan {
            std::thread::Builder::new()
                .name("sqlite-scan".into())
                .spawn(move || {
                    lower_priority();
                    read();
                })
                .map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        } else {
            tokio::task::spawn_blocking(read);
        }
        let done = answered.await;
        drop(abandoning);
        done.unwrap_or_else(|_| Err(StoreError::Aborted("it panicked").into()))
    }

    fn on_this_thread<T, E: From<StoreError>>(
        &self,
        tenant: TenantId,
        until: Limit,
        limit: Duration,
        turn: Option<ScanPermit>,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let is_scan = turn.is_some();
        let mut tx = Tx::reading(Conn::Sqlite(self.take()?), tenant);
        tx.until = is_scan.then(|| Instant::now() + limit / 2);
        let (result, stopped) = within(until, || at_once(work(&mut tx)));
        if let Conn::Sqlite(conn) = tx.into_conn() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
        }
        if let Some(mut turn) = turn {
            turn.ended(match stopped {
                None => Outcome::Completed,
                Some(StopReason::Late) => Outcome::TooLong,
                Some(StopReason::Abandoned) => Outcome::Abandoned,
            });
        }
        match stopped {
            None => result.unwrap_or_else(|| Err(WAITED.into())),
            Some(StopReason::Late) if is_scan => Err(StoreError::ScanTooLong(limit).into()),
            Some(_) => Err(StoreError::Unavailable(format!("no result within {limit:?}").into()).into()),
        }
    }

    fn take(&self) -> StoreResult<SqliteConn> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| open_reader(&self.path), Ok)
    }
}

/// Lowers the thread's priority, so that scans yield to lookups. The setting lasts as long as the thread, which is
/// why a scan has its own.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _refused = rustix::process::nice(10);
}
