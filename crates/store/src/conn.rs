//! A connection to either database.

use diesel::sqlite::SqliteConnection;
use diesel_async::{
    AsyncPgConnection,
    pooled_connection::deadpool::Object,
    sync_connection_wrapper::{SpawnBlocking, SyncConnectionWrapper},
};
use futures_util::{FutureExt, future::BoxFuture};

/// A connection of a worker's pool.
pub(crate) type PgConn = Object<AsyncPgConnection>;

/// A connection whose every statement is finished when its future is made: it is used on threads that may block.
pub(crate) type SqliteConn = SyncConnectionWrapper<SqliteConnection, Inline>;

/// A connection to either database.
pub(crate) enum Conn {
    Postgres(Box<PgConn>),
    Sqlite(SqliteConn),
}

/// Runs one query text on whichever database the connection is to.
macro_rules! on {
    ($conn:expr, $c:ident => $query:expr) => {
        match $conn {
            $crate::conn::Conn::Postgres(object) => {
                let $c: &mut diesel_async::AsyncPgConnection = &mut **object;
                $query
            }
            $crate::conn::Conn::Sqlite($c) => $query,
        }
        .map_err($crate::error::store_error)
    };
}
pub(crate) use on;

/// Runs SQLite's statements where they are asked for, without a hop to another thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inline;

impl SpawnBlocking for Inline {
    fn spawn_blocking<'a, R: Send + 'static>(
        &mut self,
        task: impl FnOnce() -> R + Send + 'static,
    ) -> BoxFuture<'a, Result<R, Box<dyn std::error::Error + Send + Sync + 'static>>> {
        std::future::ready(Ok(task())).boxed()
    }

    fn get_runtime() -> Self {
        Self
    }
}
