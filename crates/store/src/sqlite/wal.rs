//! The write-ahead log and its size.
//!
//! A long-running snapshot, such as an export, keeps SQLite from restarting the log: the file grows with every write
//! and keeps its size after the snapshot ends.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use diesel::{connection::SimpleConnection, sqlite::SqliteConnection};
use kernel::{StoreError, StoreResult};

use crate::error::store_error;

/// File size, in bytes, from which shrinking is worthwhile: twice what SQLite allows between two checkpoints.
const LARGE: u64 = 8 << 20;

/// Enables the write-ahead log, which is permanent for the file, and limits the size that it keeps when it restarts.
/// If another program does the same to a new file, SQLite fails at once instead of waiting for the lock, so this
/// retries.
pub(super) fn enable(conn: &mut SqliteConnection) -> StoreResult<()> {
    let mut tries = 0;
    let statements = format!("PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = {LARGE}");
    loop {
        match conn.batch_execute(&statements).map_err(store_error) {
            Err(StoreError::Unavailable(_)) if tries < 100 => tries += 1,
            done => return done,
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the size of the log file in bytes.
pub(super) fn size(database: &Path) -> u64 {
    std::fs::metadata(file_of(database)).map_or(0, |file| file.len())
}

fn file_of(database: &Path) -> PathBuf {
    let mut name = OsString::from(database);
    name.push("-wal");
    name.into()
}

/// Attempts to shrink the log, and the pause between two.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(500);

/// Shrinks the log if it is large. A passive checkpoint first copies the log to the database without blocking, so
/// that writers wait only briefly for the truncation. Tries again while a reader or a long write needs the log, and
/// then leaves it to a later checkpoint.
pub(crate) fn shrink_wal(database: &Path) {
    for attempt in 0..ATTEMPTS {
        if size(database) <= LARGE {
            return;
        }
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        let shrunk = super::opening::open(database, "PRAGMA busy_timeout = 500;").and_then(|mut conn| {
            conn.batch_execute("PRAGMA wal_checkpoint(PASSIVE); PRAGMA wal_checkpoint(TRUNCATE)")
                .map_err(store_error)
        });
        if let Err(error) = shrunk {
            tracing::debug!(%error, "cannot shrink the write-ahead log; trying again");
        }
    }
}
