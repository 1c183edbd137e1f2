//! The PostgreSQL version.

use diesel_async::AsyncPgConnection as Connection;

#[path = "all.rs"]
mod all;
pub(crate) use all::refold;
