//! Reading: a unit of work is one hop to a thread that may block; a scan has a thread of its own.

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

/// Connections that read at the same time.
const READERS: usize = 8;
/// Those of them that scans may take: the other half is for reads that an index answers.
const SCANNERS: usize = READERS / 2;
/// How long a unit of work waits for one.
const WAIT: Duration = Duration::from_secs(3);
/// How long a unit of work may take, as on PostgreSQL.
const LIMIT: Duration = Duration::from_secs(4);

pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<SqliteConn>>,
    permits: Arc<Semaphore>,
    scanners: Arc<Semaphore>,
    pub(super) waiting: Arc<QueueStatus>,
    pub(super) scans: Arc<Scans>,
}

/// Stops the unit of work of a future that is dropped.
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

    /// Connections that are open, those of them that nobody uses, and how many there may be.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).len();
        (idle + READERS - self.permits.available_permits(), idle, READERS)
    }

    /// Runs a read that an index answers. It ends early when its future is dropped.
    pub(crate) async fn run<T: Send + 'static, E: Failure>(
        self: &Arc<Self>,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.on_a_thread(tenant, LIMIT, None, work).await
    }

    /// Runs a scan when it is its turn.
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
        // Where its client hangs up, this ends at SQLite's next look at the limit; the connection always comes back.
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

/// Lets everything else have the processor first: a scan may wait for it, a look-up by key should not. It holds for the
/// life of the thread, so a scan has a thread of its own.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _refused = rustix::process::nice(10);
}
