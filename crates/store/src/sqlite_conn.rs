//! A blocking SQLite connection.

use diesel::sqlite::SqliteConnection;
use diesel_async::sync_connection_wrapper::{SpawnBlocking, SyncConnectionWrapper};
use futures_util::{FutureExt, future::BoxFuture};

/// A connection that runs each statement when its future is created. Used on threads that may block.
pub(crate) type SqliteConn = SyncConnectionWrapper<SqliteConnection, Inline>;

/// Runs SQLite's statements on the calling thread.
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
