//! The SQLite version.

use crate::sqlite_conn::SqliteConn as Connection;

#[path = "all.rs"]
mod all;
pub(crate) use all::refold;
