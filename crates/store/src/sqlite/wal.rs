//! The write-ahead log and its size.
//!
//! A reader that sees one moment for long, such as an export, keeps SQLite from using the log again from its beginning:
//! the file grows with every write, and stays as large when the reader is gone.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use diesel::{connection::SimpleConnection, sqlite::SqliteConnection};
use kernel::{StoreError, StoreResult};

use crate::error::store_error;

/// Bytes from which on the file is worth shrinking: twice what SQLite lets it grow to between two checkpoints.
const LARGE: u64 = 8 << 20;

/// Turns on the write-ahead log, once for the life of the file, and bounds what it keeps when it begins anew. While
/// another program does the same to a new file, SQLite refuses at once instead of waiting as it does for every other
/// lock.
pub(super) fn turn_on(conn: &mut SqliteConnection) -> StoreResult<()> {
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

/// Returns the bytes of the log's file.
pub(super) fn size(database: &Path) -> u64 {
    std::fs::metadata(file_of(database)).map_or(0, |file| file.len())
}

fn file_of(database: &Path) -> PathBuf {
    let mut name = OsString::from(database);
    name.push("-wal");
    name.into()
}

/// Makes the log small again where it is large. First what it holds is written to the database beside all others; only
/// then, for a moment, writers wait. Where somebody still needs the log, it stays: the next checkpoint bounds it.
pub(crate) fn shrink_wal(database: &Path) {
    if size(database) <= LARGE {
        return;
    }
    let shrunk = super::opening::open(database, "PRAGMA busy_timeout = 500;").and_then(|mut conn| {
        conn.batch_execute("PRAGMA wal_checkpoint(PASSIVE); PRAGMA wal_checkpoint(TRUNCATE)")
            .map_err(store_error)
    });
    if let Err(error) = shrunk {
        tracing::debug!(%error, "the write-ahead log could not be shrunk; the next checkpoint does");
    }
}
