//! Stops a running SQLite statement. This is the only file of the crate with unsafe code.
//!
//! diesel neither offers `sqlite3_interrupt` nor exposes the connection's handle, and a custom SQL function called
//! in each row would limit only the statements that call it. SQLite calls a progress handler every few hundred
//! instructions and asks whether to continue. An automatic extension installs that handler on each connection when
//! SQLite opens it. The handler ignores its argument: it reads the [`Limit`] of the thread that runs the statement, so
//! no pointer can dangle. A stopped statement ends with SQLITE_INTERRUPT; the connection stays usable.

#![expect(unsafe_code, reason = "SQLite is a C library; each block explains why it is sound")]

use std::{
    cell::RefCell,
    ffi::{c_char, c_int, c_void},
    ptr::null_mut,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use kernel::{StoreError, StoreResult};
use libsqlite3_sys as ffi;

/// Instructions of SQLite's virtual machine between two checks of the limit: about 20 µs.
const INSTRUCTIONS: c_int = 1_000;

/// When to stop the statements of a unit of work.
#[derive(Clone)]
pub(super) struct Limit {
    deadline: Instant,
    /// Set when the caller has gone away.
    abandoned: Arc<AtomicBool>,
}

/// Why statements were stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    /// They exceeded the time limit.
    Late,
    /// The caller has gone away.
    Abandoned,
}

/// The limit of this thread's work, and why a statement was stopped, if one was.
struct BoundLimit {
    limit: Limit,
    stopped: Option<StopReason>,
}

thread_local! {
    static BOUND: RefCell<Option<BoundLimit>> = const { RefCell::new(None) };
}

impl Limit {
    pub(super) fn new(time: Duration, abandoned: Arc<AtomicBool>) -> Self {
        Self { deadline: Instant::now() + time, abandoned }
    }

    fn passed(&self) -> Option<StopReason> {
        if self.abandoned.load(Ordering::Acquire) {
            return Some(StopReason::Abandoned);
        }
        (Instant::now() >= self.deadline).then_some(StopReason::Late)
    }
}

/// Runs `work` on this thread and stops its statements when the limit has passed. Also returns why one was stopped.
pub(super) fn within<T>(limit: Limit, work: impl FnOnce() -> T) -> (T, Option<StopReason>) {
    /// Removes the limit even if the work panics, because the thread is reused.
    struct ClearOnDrop;
    impl Drop for ClearOnDrop {
        fn drop(&mut self) {
            BOUND.set(None);
        }
    }
    let _cleared = ClearOnDrop;
    BOUND.set(Some(BoundLimit { limit, stopped: None }));
    let done = work();
    (done, BOUND.with_borrow(|bound| bound.as_ref().and_then(|bound| bound.stopped)))
}

/// Installs the handler on every connection opened from now on.
pub(super) fn install() -> StoreResult<()> {
    static INSTALLED: OnceLock<c_int> = OnceLock::new();
    // SAFETY: `on_open` has the signature of an automatic extension and, as a function, lives forever.
    let code = *INSTALLED.get_or_init(|| unsafe { ffi::sqlite3_auto_extension(Some(on_open)) });
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(StoreError::Unavailable(
            format!("cannot install the progress handler of SQLite: code {code}").into(),
        ))
    }
}

/// Called by SQLite with each connection that it opens.
unsafe extern "C" fn on_open(
    db: *mut ffi::sqlite3,
    _: *mut *mut c_char,
    _: *const ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite passes a valid, open connection; `on_progress` lives forever and ignores its argument.
    unsafe { ffi::sqlite3_progress_handler(db, INSTRUCTIONS, Some(on_progress), null_mut()) };
    ffi::SQLITE_OK
}

/// Called by SQLite on the thread that runs a statement. Any result but 0 stops the statement.
unsafe extern "C" fn on_progress(_: *mut c_void) -> c_int {
    let is_stopped = BOUND.try_with(|bound| {
        let Ok(mut bound) = bound.try_borrow_mut() else { return false };
        let Some(bound) = bound.as_mut() else { return false };
        bound.stopped = bound.stopped.or_else(|| bound.limit.passed());
        bound.stopped.is_some()
    });
    c_int::from(is_stopped.unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use diesel::{
        Connection, RunQueryDsl, SqliteConnection, connection::SimpleConnection, sql_types::BigInt,
    };

    use super::*;

    const ENDLESS: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

    fn connection() -> SqliteConnection {
        install().unwrap();
        SqliteConnection::establish(":memory:").unwrap()
    }

    #[test]
    fn late_statement_is_stopped_and_its_connection_stays_usable() {
        let mut conn = connection();
        let limit = Limit::new(Duration::from_millis(20), Arc::default());
        let (result, stopped) = within(limit, || conn.batch_execute(ENDLESS));
        assert!(result.unwrap_err().to_string().contains("interrupted"));
        assert_eq!(stopped, Some(StopReason::Late));
        let one = diesel::select(diesel::dsl::sql::<BigInt>("1")).get_result::<i64>(&mut conn);
        assert_eq!(one.unwrap(), 1);
    }

    #[test]
    fn abandoned_statement_is_stopped_from_another_thread() {
        let mut conn = connection();
        let abandoned = Arc::new(AtomicBool::new(false));
        let limit = Limit::new(Duration::from_mins(1), Arc::clone(&abandoned));
        let (running, started) = std::sync::mpsc::channel();
        let work = std::thread::spawn(move || {
            within(limit, || {
                running.send(()).unwrap();
                conn.batch_execute(ENDLESS)
            })
        });
        started.recv().unwrap();
        abandoned.store(true, Ordering::Release);
        let (result, stopped) = work.join().unwrap();
        assert!(result.is_err());
        assert_eq!(stopped, Some(StopReason::Abandoned));
    }

    #[test]
    fn work_without_a_limit_is_not_stopped() {
        let mut conn = connection();
        let ((), stopped) = within(Limit::new(Duration::ZERO, Arc::default()), || ());
        assert_eq!(stopped, None, "nothing ran");
        let many = ENDLESS.replace("FROM n) ", "FROM n WHERE i < 100000) ");
        conn.batch_execute(&many).unwrap();
    }
}
