//! Writes. One thread owns the writing connection and groups waiting units of work into one commit.
//!
//! `synchronous=FULL` makes every commit wait for the disk. Therefore each unit of work runs in its own savepoint,
//! all that have arrived meanwhile share one transaction, and each is answered after its COMMIT. A failed or
//! panicking unit rolls back alone while the others commit. A unit whose client is gone before its turn is skipped.
//! If no unit waits, the thread commits at once.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
    time::Duration,
};

use audit::{Audited, EntryKeys};
use diesel_async::SimpleAsyncConnection;
use kernel::{Ctx, StoreError, StoreResult};
use tokio::{sync::oneshot, time::timeout};

use super::opening::{WAITED, at_once};
use crate::{
    Tx,
    authentication::reread::CredentialKey,
    conn::Conn,
    error::store_error,
    limits::queue_status::QueueStatus,
    sqlite_conn::SqliteConn,
    tx::{Failure, finish},
    webhooks::{Listeners, Woken},
};

/// Maximum number of units of work per commit, so that the first does not wait too long.
const BATCH: usize = 256;
/// How long a unit of work may wait and run.
const LIMIT: Duration = Duration::from_secs(8);
/// Maximum number of waiting units of work. More are rejected at once.
const QUEUE: usize = 4096;

/// Sends the result to the caller once it is known whether the transaction was committed.
type Answer = Box<dyn FnOnce(Result<(), &StoreError>) + Send>;
/// A unit of work. Takes the connection and returns it.
type WriteUnit = Box<dyn FnOnce(SqliteConn) -> UnitOutcome + Send>;

/// The result of a unit of work.
struct UnitOutcome {
    conn: SqliteConn,
    /// Whether the transaction is still open. SQLite rolls it back itself if the disk is full or fails.
    state: StoreResult<()>,
    /// Whether the unit of work failed, for any reason.
    failed: bool,
    /// `None` if the client was gone before its turn and nothing was done.
    answer: Option<Answer>,
}

pub(crate) struct Writer {
    /// `None` during shutdown.
    units: Option<mpsc::SyncSender<WriteUnit>>,
    thread: Option<JoinHandle<()>>,
    pub(super) waiting: Arc<QueueStatus>,
    path: PathBuf,
    /// See [`Disk`].
    failing: Arc<AtomicBool>,
    /// Notified of committed work.
    pub(crate) listeners: Listeners,
    /// Keys for the MACs of audit entries.
    entry_keys: EntryKeys,
}

/// The state of the disk. A full disk can fail changes before their commit, while an empty commit still succeeds. So
/// after a failed unit of work the free space is checked.
struct Disk {
    path: PathBuf,
    failing: Arc<AtomicBool>,
}

/// Bytes of free space that changes of a usual size need.
const ROOM: u64 = 1 << 20;

/// Returns whether the disk has no room for changes. Unknown free space counts as enough.
fn is_full(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let space = rustix::fs::statvfs(folder.unwrap_or(Path::new(".")));
    space.is_ok_and(|space| space.f_bavail.saturating_mul(space.f_frsize) < ROOM)
}

impl Drop for Writer {
    /// Waits until the thread has written all queued work and closed the database.
    fn drop(&mut self) {
        self.units = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl Writer {
    /// Starts the thread, which ends when the last handle is dropped.
    pub(super) fn start(conn: SqliteConn, path: &Path, entry_keys: EntryKeys) -> StoreResult<Self> {
        let (units, inbox) = mpsc::sync_channel::<WriteUnit>(QUEUE);
        let failing = Arc::new(AtomicBool::new(false));
        let disk = Disk { path: path.to_owned(), failing: Arc::clone(&failing) };
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || write_all(conn, &inbox, &disk))
            .map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        Ok(Self {
            units: Some(units),
            thread: Some(thread),
            waiting: Arc::default(),
            path: path.to_owned(),
            failing,
            listeners: Listeners::default(),
            entry_keys,
        })
    }

    /// Checks whether changes can be written. After a failed commit, for example on a full disk, it tries a write
    /// that changes nothing, so that the check recovers without risking a client's change.
    pub(super) async fn check(&self) -> StoreResult<()> {
        if !self.failing.load(Ordering::Acquire) {
            return Ok(());
        }
        if is_full(&self.path) {
            return Err(StoreError::Unavailable("the disk is full".into()));
        }
        let (answer, answered) = oneshot::channel();
        let unit: WriteUnit = Box::new(move |mut conn| {
            // Changes nothing, but is written to the log.
            let state = sql(&mut conn, "PRAGMA user_version = 0");
            let send_result = move |committed: Result<(), &StoreError>| {
                let _gone = answer.send(committed.map_err(lost));
            };
            UnitOutcome { conn, failed: state.is_err(), state, answer: Some(Box::new(send_result)) }
        });
        self.send(unit)?;
        answered.await.unwrap_or_else(|_| Err(writer_gone()))
    }

    fn send(&self, unit: WriteUnit) -> StoreResult<()> {
        let Some(units) = &self.units else { return Err(writer_gone()) };
        units.try_send(unit).map_err(|error| match error {
            mpsc::TrySendError::Full(_) => StoreError::Unavailable("too many writes are waiting".into()),
            mpsc::TrySendError::Disconnected(_) => writer_gone(),
        })
    }

    pub(crate) async fn run<T: Send + 'static, E: Failure>(
        &self,
        ctx: Ctx,
        credential: Option<CredentialKey>,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E> + Send + 'static,
    ) -> Result<T, E> {
        let (answer, answered) = oneshot::channel::<Result<T, E>>();
        let place = self.waiting.join();
        let (listeners, entry_keys) = (self.listeners.clone(), self.entry_keys.clone());
        let unit: WriteUnit = Box::new(move |conn| {
            drop(place);
            if answer.is_closed() {
                return UnitOutcome { conn, state: Ok(()), failed: false, answer: None };
            }
            let (conn, state, result, woken) = savepoint(conn, &ctx, credential, entry_keys, work);
            let failed = result.is_err();
            let send_result = move |committed: Result<(), &StoreError>| {
                if committed.is_ok() && result.is_ok() {
                    woken.notify(&listeners, &ctx.tenant);
                }
                let result = match committed {
                    Err(error) if result.is_ok() => Err(lost(error).into()),
                    _ => result,
                };
                // The client may be gone.
                let _gone = answer.send(result);
            };
            UnitOutcome { conn, state, failed, answer: Some(Box::new(send_result)) }
        });
        self.send(unit)?;
        match timeout(LIMIT, answered).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(writer_gone().into())),
            // The answer's channel is closed now, so a unit that has not started is skipped.
            Err(_) => Err(StoreError::Unavailable("the change was not written in time".into()).into()),
        }
    }
}

fn writer_gone() -> StoreError {
    StoreError::Unavailable("the database does not accept writes".into())
}

fn lost(error: &StoreError) -> StoreError {
    StoreError::Unavailable(format!("the commit failed: {error}").into())
}

/// Runs the writer thread.
fn write_all(mut conn: SqliteConn, inbox: &mpsc::Receiver<WriteUnit>, disk: &Disk) {
    while let Ok(first) = inbox.recv() {
        let mut state = sql(&mut conn, "BEGIN IMMEDIATE");
        if let Err(error) = &state {
            disk.failing.store(true, Ordering::Release);
            // Another program has locked the database for long. All waiting units fail now instead of one after the
            // other.
            let waited = inbox.try_iter().take(BATCH).count();
            tracing::error!(%error, units = waited + 1, "cannot begin a transaction; its units of work fail");
            continue;
        }
        let (mut answers, mut failed) = (Vec::new(), false);
        let mut next = Some(first);
        while let Some(unit) = next {
            let done = unit(conn);
            conn = done.conn;
            state = done.state;
            failed |= done.failed;
            answers.extend(done.answer);
            next = if state.is_ok() && answers.len() < BATCH { inbox.try_recv().ok() } else { None };
        }
        let committed = state.and_then(|()| sql(&mut conn, "COMMIT"));
        disk.failing.store(committed.is_err() || (failed && is_full(&disk.path)), Ordering::Release);
        if let Err(error) = &committed {
            tracing::error!(%error, units = answers.len(), "a commit failed; its units of work return an error");
            // SQLite has rolled back by itself after some errors. Then this fails harmlessly.
            let _not_open = sql(&mut conn, "ROLLBACK");
        }
        for answer in answers {
            answer(committed.as_ref().copied());
        }
    }
}

/// Runs one unit of work in a savepoint. The second result says whether the surrounding transaction is still open.
fn savepoint<T, E: From<StoreError>>(
    mut conn: SqliteConn,
    ctx: &Ctx,
    credential: Option<CredentialKey>,
    entry_keys: EntryKeys,
    work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E>,
) -> (SqliteConn, StoreResult<()>, Result<T, E>, Woken) {
    if let Err(error) = sql(&mut conn, "SAVEPOINT unit") {
        let failure = lost(&error).into();
        return (conn, Err(error), Err(failure), Woken::default());
    }
    let mut tx = Tx::writing(Conn::Sqlite(conn), ctx.tenant.clone(), credential, entry_keys);
    let done = catch_unwind(AssertUnwindSafe(|| at_once(finish(ctx, &mut tx, work))));
    let result = match done {
        Ok(Some(result)) => result,
        Ok(None) => Err(WAITED.into()),
        Err(_) => Err(StoreError::Aborted("it panicked").into()),
    };
    let woken = std::mem::take(&mut tx.db.woken);
    let Conn::Sqlite(mut conn) = tx.into_conn() else {
        unreachable!("a SQLite unit of work has a SQLite connection")
    };
    let end = if result.is_ok() { "RELEASE unit" } else { "ROLLBACK TO unit; RELEASE unit" };
    let state = sql(&mut conn, end);
    (conn, state, result, woken)
}

fn sql(conn: &mut SqliteConn, statement: &str) -> StoreResult<()> {
    at_once(conn.batch_execute(statement)).map_or(Err(WAITED), |done| done.map_err(store_error))
}
