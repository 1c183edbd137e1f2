//! Opens connections to a database file, and runs work on them without suspending.

use std::path::Path;

use diesel::{Connection, connection::SimpleConnection, sqlite::SqliteConnection};
use futures_util::FutureExt;
use kernel::{StoreError, StoreResult};

use super::interrupt;
use crate::{
    error::store_error,
    sqlite_conn::{Inline, SqliteConn},
};

/// A unit of work on SQLite must not await anything but storage.
pub(crate) const WAITED: StoreError = StoreError::Aborted("it awaited something other than storage");

/// Runs a future that awaits only SQLite, whose statements complete immediately. Returns `None` if it awaits anything
/// else.
pub(crate) fn at_once<T>(work: impl Future<Output = T>) -> Option<T> {
    work.now_or_never()
}

/// Opens a file; `more` holds further pragmas.
pub(crate) fn open(path: &Path, more: &str) -> StoreResult<SqliteConnection> {
    let unavailable = |error| StoreError::Unavailable(Box::new(error));
    interrupt::install()?;
    let mut conn = SqliteConnection::establish(&path.to_string_lossy()).map_err(unavailable)?;
    let pragmas = format!(
        "PRAGMA busy_timeout = 15000; PRAGMA synchronous = FULL; \
         PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000; {more}"
    );
    conn.batch_execute(&pragmas).map_err(store_error)?;
    Ok(conn)
}

/// Opens a read-only connection.
pub(crate) fn open_reader(path: &Path) -> StoreResult<SqliteConn> {
    Ok(SqliteConn::with_runtime(open(path, "PRAGMA query_only = ON;")?, Inline))
}
