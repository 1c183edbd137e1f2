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
    /// Whose SQL it speaks.
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Postgres(_) => Dialect::Postgres,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }
}

/// A connection of a worker's pool, and how far its transaction is.
///
/// BEGIN is not sent by itself but together with the first statement, which saves a round trip. So the
/// transaction is ours to follow: [`crate::postgres`] ends it, or closes the connection.
pub(crate) struct Pg {
    pub(crate) object: Object<AsyncPgConnection>,
    pub(crate) transaction: Transaction,
    /// The credential that is read again with BEGIN.
    pub(crate) reread: Option<CredentialReread>,
}

/// How far a transaction is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transaction {
    /// Each statement is for itself.
    None,
    /// The next statement goes with BEGIN.
    Due,
    /// BEGIN was sent.
    Open,
    /// A statement failed, and so has all of it.
    Failed,
}

impl Pg {
    /// Sends BEGIN if it is due, and with it the statement that reads the credential again. Polled together with a
    /// statement, and before it, they travel together.
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

    /// The connection, in its transaction if it is to be in one.
    pub(crate) async fn begun(&mut self) -> QueryResult<&mut AsyncPgConnection> {
        let begun = self.begin().0.await;
        self.note(begun)?;
        Ok(&mut self.object)
    }

    /// Remembers a failure: what follows in the same transaction would be ignored by the server.
    pub(crate) fn note<T>(&mut self, result: QueryResult<T>) -> QueryResult<T> {
        if result.is_err() && self.transaction == Transaction::Open {
            self.transaction = Transaction::Failed;
        }
        result
    }
}

/// Runs one query text on whichever database the connection is to.
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

/// The same where only PostgreSQL can do it.
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
