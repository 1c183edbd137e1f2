//! A connection to SQLite that is used where it may block.

use diesel::sqlite::SqliteConnection;
use diesel_async::sync_connection_wrapper::{SpawnBlocking, SyncConnectionWrapper};
use futures_util::{FutureExt, future::BoxFuture};

/// A connection whose every statement is finished when its future is made: it is used on threads that may block.
pub(crate) type SqliteConn = SyncConnectionWrapper<SqliteConnection, Inline>;

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
