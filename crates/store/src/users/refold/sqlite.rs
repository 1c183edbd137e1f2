//! In SQLite.

use crate::conn::SqliteConn as Connection;

#[path = "all.rs"]
mod all;
pub(crate) use all::refold;
