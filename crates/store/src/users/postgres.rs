//! Filters need to know the database's dialect as a type: one text, compiled once for each.

use diesel::pg::Pg as Backend;
use diesel_async::AsyncPgConnection as Connection;

#[path = "matching.rs"]
pub(super) mod matching;
