//! A connection to either database.

use diesel::QueryResult;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection, pooled_connection::deadpool::Object};
use futures_util::future::join;

use crate::{authentication::reread::CredentialReread, dialect::Dialect, sqlite_conn::SqliteConn};

/// A connection to either database.
pub(crate) enum Conn {
    Postgres(Box<Pg>),
    Sqlite(SqliteConn),
}

impl Conn {
    /// Returns the SQL dialect of the connection.
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Postgres(_) => Dialect::Postgres,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }
}

/// A connection from a worker's pool, and the state of its transaction.
///
/// BEGIN is pipelined with the first statement, which saves a round trip. Therefore the transaction's state is
/// tracked here; [`crate::postgres`] ends the transaction or closes the connection.
pub(crate) struct Pg {
    pub(crate) object: Object<AsyncPgConnection>,
    pub(crate) transaction: Transaction,
    /// The credential to read again with BEGIN.
    pub(crate) reread: Option<CredentialReread>,
}

/// The state of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transaction {
    /// No transaction: each statement commits by itself.
    None,
    /// BEGIN will be sent with the next statement.
    Due,
    /// BEGIN was sent.
    Open,
    /// A statement failed, which aborts the transaction.
    Failed,
}

impl Pg {
    /// Sends BEGIN if it is due, and the statement that reads the credential again. If this future is polled together
    /// with a statement's, and before it, all are pipelined.
    pub(crate) fn begin(
        &mut self,
    ) -> (impl Future<Output = QueryResult<()>> + Send + '_, &AsyncPgConnection) {
        let due = self.transaction == Transaction::Due;
        if due {
            self.transaction = Transaction::Open;
        }
        let reread = if due { self.reread.take() } else { None };
        let conn: &AsyncPgConnection = &self.object;
        let begin = async move {
            if !due {
                return Ok(());
            }
            let begin = async {
                let mut conn = conn;
                conn.batch_execute("BEGIN").await
            };
            match reread {
                None => begin.await,
                Some(reread) => {
                    let (begun, read) = join(begin, reread.on_postgres(conn)).await;
                    begun.and(read)
                }
            }
        };
        (begin, conn)
    }

    /// Returns the connection, after BEGIN if one is due.
    pub(crate) async fn in_transaction(&mut self) -> QueryResult<&mut AsyncPgConnection> {
        let begun = self.begin().0.await;
        self.note(begun)?;
        Ok(&mut self.object)
    }

    /// Records a failure, because the server ignores later statements of the same transaction.
    pub(crate) fn note<T>(&mut self, result: QueryResult<T>) -> QueryResult<T> {
        if result.is_err() && self.transaction == Transaction::Open {
            self.transaction = Transaction::Failed;
        }
        result
    }
}

/// Runs one query on a connection to either database.
macro_rules! on {
    ($conn:expr, $c:ident => $query:expr) => {
        match $conn {
            $crate::conn::Conn::Postgres(pg) => $crate::conn::on_postgres!(pg, $c => $query),
            $crate::conn::Conn::Sqlite($c) => $query,
        }
        .map_err($crate::error::store_error)
    };
}
pub(crate) use on;

/// Runs a query that only PostgreSQL supports.
macro_rules! on_postgres {
    ($pg:expr, $c:ident => $query:expr) => {{
        let result = {
            let (begin, mut conn) = $pg.begin();
            let $c = &mut conn;
            let (begun, result) = futures_util::future::join(begin, async { $query }).await;
            begun.and(result)
        };
        $pg.note(result)
    }};
}
pub(crate) use on_postgres;

/// Runs a query for each item, pipelined where the database supports it. Returns the results in the order of the items.
macro_rules! on_each {
    ($conn:expr, $items:expr, $item:ident, $c:ident => $query:expr) => {
        match $conn {
            $crate::conn::Conn::Postgres(pg) => {
                let result = {
                    let (begin, conn) = pg.begin();
                    let queries = $items.into_iter().map(async |$item| {
                        let mut conn = conn;
                        let $c = &mut conn;
                        $query
                    });
                    let queries = futures_util::future::try_join_all(queries);
                    let (begun, results) = futures_util::future::join(begin, queries).await;
                    begun.and(results)
                };
                pg.note(result)
            }
            $crate::conn::Conn::Sqlite($c) => {
                let run = async {
                    let mut results = Vec::new();
                    for $item in $items {
                        results.push($query?);
                    }
                    diesel::QueryResult::Ok(results)
                };
                run.await
            }
        }
        .map_err($crate::error::store_error)
    };
}
pub(crate) use on_each;
