//! Filters need to know the database's dialect as a type: one text, compiled once for each.

use crate::conn::SqliteConn as Connection;
use diesel::sqlite::Sqlite as Backend;

#[path = "matching.rs"]
pub(super) mod matching;
