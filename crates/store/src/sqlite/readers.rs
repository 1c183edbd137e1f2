//! Reading: a unit of work is one hop to a thread that may block.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kernel::{StoreError, TenantId};
use tokio::{sync::Semaphore, time::timeout};

use super::{WAITED, at_once, open_reader};
use crate::{
    Tx,
    conn::{Conn, SqliteConn},
    figures::Waiting,
};

/// Connections that read at the same time.
const READERS: usize = 8;
/// How long a unit of work waits for one.
const WAIT: Duration = Duration::from_secs(3);

pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<SqliteConn>>,
    permits: Arc<Semaphore>,
    pub(super) waiting: Arc<Waiting>,
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            idle: Mutex::new(Vec::new()),
            permits: Arc::new(Semaphore::new(READERS)),
            waiting: Arc::default(),
        }
    }

    /// Connections that are open, those of them that nobody uses, and how many there may be.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).len();
        (idle + READERS - self.permits.available_permits(), idle, READERS)
    }

    pub(crate) async fn run<T, E>(
        self: &Arc<Self>,
        tenant: TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let place = self.waiting.join();
        let permit = timeout(WAIT, Arc::clone(&self.permits).acquire_owned()).await;
        drop(place);
        let Ok(Ok(permit)) = permit else {
            return Err(StoreError::Unavailable("all readers are busy".into()).into());
        };
        let readers = Arc::clone(self);
        // A client that hangs up leaves this running to its end; the connection always comes back.
        let done = tokio::task::spawn_blocking(move || {
            let conn = readers.take()?;
            let mut tx = Tx::reading(Conn::Sqlite(conn), tenant);
            let result = at_once(work(&mut tx)).unwrap_or_else(|| Err(WAITED.into()));
            if let Conn::Sqlite(conn) = tx.into_conn() {
                readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
            }
            drop(permit);
            result
        });
        done.await.unwrap_or_else(|_| Err(StoreError::Aborted("it panicked").into()))
    }

    fn take(&self) -> Result<SqliteConn, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| open_reader(&self.path), Ok)
    }
}
