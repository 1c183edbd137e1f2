//! The connection of a unit of work.
//!
//! It is private to this file, so that all access goes through the macros: [`read!`] first flushes pending rows;
//! [`change!`] fails in a read-only unit of work and records that an audit entry is required; [`change_unaudited!`]
//! states why none is required.

use ::webhooks::SubscriptionId;
use audit::Unaudited;
use diesel::QueryResult;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::join;
use kernel::{StoreError, StoreResult};

use crate::{
    audit::entry_row::{self, EntryRow},
    authentication::reread::CredentialReread,
    conn::{Conn, Transaction},
    dialect::Dialect,
    error::store_error,
    scim_core::users::rows::{self, EmailRow, SignInNameRow, UserUpdate},
    stepup::grant_row::{self, GrantRow},
    webhooks::{self, FanOut, FannedOut, PendingRow, Woken},
};

/// The connection and state of a unit of work.
pub(crate) struct Db {
    conn: Conn,
    is_writable: bool,
    /// Whether a statement changed something, which requires an audit entry.
    changed: bool,
    /// Whether writing the pending rows failed.
    failed: bool,
    /// Rows that no statement of the unit of work has read yet. They are written together, at the latest before the
    /// commit.
    pending: Vec<Row>,
    /// The number of audit entries, which must be sealed.
    pub(crate) entries: usize,
    /// What to notify after the commit.
    pub(crate) woken: Woken,
}

/// A row that is written with the next flush.
pub(crate) enum Row {
    Email(EmailRow),
    SignInName(SignInNameRow),
    User(Box<UserUpdate>),
    Entry(Box<EntryRow>),
    FanOut(Box<FanOut>),
    Grant(Box<GrantRow>),
    Delivery(Box<PendingRow>),
}

/// The result of a statement that may have changed something.
pub(crate) trait Affected {
    /// Returns whether it changed something.
    fn is_any(&self) -> bool;
}

impl Affected for usize {
    fn is_any(&self) -> bool {
        *self > 0
    }
}

impl<T> Affected for Vec<T> {
    fn is_any(&self) -> bool {
        !self.is_empty()
    }
}

impl<T> Affected for Option<T> {
    fn is_any(&self) -> bool {
        self.is_some()
    }
}

impl Db {
    pub(crate) fn new(conn: Conn, is_writable: bool) -> Self {
        Self {
            conn,
            is_writable,
            changed: false,
            failed: false,
            pending: Vec::new(),
            entries: 0,
            woken: Woken::default(),
        }
    }

    /// Returns the SQL dialect.
    pub(crate) fn dialect(&self) -> Dialect {
        self.conn.dialect()
    }

    /// Returns whether the unit of work may write.
    pub(crate) fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// Flushes pending rows and returns the connection for a read. Used by [`read!`] and [`lock!`].
    pub(crate) async fn reading(&mut self) -> StoreResult<&mut Conn> {
        self.flush().await?;
        Ok(&mut self.conn)
    }

    /// Flushes pending rows and returns the connection for a write. Used by [`change!`] and [`change_unaudited!`].
    pub(crate) async fn changing(&mut self) -> StoreResult<&mut Conn> {
        self.require_writable()?;
        self.flush().await?;
        Ok(&mut self.conn)
    }

    /// Returns an error in a read-only unit of work.
    pub(crate) fn require_writable(&self) -> StoreResult<()> {
        if self.is_writable {
            Ok(())
        } else {
            Err(StoreError::Aborted("it tried to write although it is read-only"))
        }
    }

    /// Records whether a statement changed something.
    pub(crate) fn note<T: Affected>(&mut self, result: StoreResult<T>) -> StoreResult<T> {
        self.changed |= result.as_ref().is_ok_and(Affected::is_any);
        result
    }

    /// Requires an audit entry although no statement reported a change.
    pub(crate) fn require_entry(&mut self) {
        self.changed = true;
    }

    /// Notifies a subscription after the commit that it has work or has changed.
    pub(crate) fn wake_subscription(&mut self, id: SubscriptionId, has_changed: bool) {
        self.woken.add(id, has_changed);
    }

    /// Announces after the commit that a stream of shared signals has new events, or has changed.
    pub(crate) fn announce_stream(&mut self, id: ::signals::StreamId) {
        self.woken.add_stream(id);
    }

    /// Queues a row for the next flush. Rows of the audit log and deliveries require no audit entry; all others do.
    pub(crate) fn later(&mut self, row: Row) -> StoreResult<()> {
        self.require_writable()?;
        self.changed |= !matches!(row, Row::Entry(_) | Row::FanOut(_) | Row::Delivery(_));
        self.entries += usize::from(matches!(row, Row::FanOut(_)));
        self.pending.push(row);
        Ok(())
    }

    /// Returns an error if writing rows failed, or if something changed without an audit event.
    pub(crate) fn may_commit(&self, events: usize) -> StoreResult<()> {
        if self.failed {
            return Err(StoreError::Aborted("it continued after a failed statement"));
        }
        if self.changed && events == 0 {
            return Err(StoreError::Aborted("it changed rows without an audit entry"));
        }
        Ok(())
    }

    /// Records that all changes so far have their entries.
    pub(crate) fn set_audited(&mut self) {
        self.changed = false;
    }

    /// Writes the pending rows, pipelined where the database supports it.
    pub(crate) async fn flush(&mut self) -> StoreResult<()> {
        if self.pending.is_empty() { Ok(()) } else { self.write_pending(None).await }
    }

    /// Writes the pending rows and reads the credential again with them.
    pub(crate) async fn write_pending(&mut self, reread: Option<CredentialReread>) -> StoreResult<()> {
        let written = self.send_pending(reread).await;
        self.failed |= written.is_err();
        written
    }

    async fn send_pending(&mut self, reread: Option<CredentialReread>) -> StoreResult<()> {
        let rows = std::mem::take(&mut self.pending);
        match &mut self.conn {
            Conn::Postgres(pg) => {
                let has_begun = pg.transaction != Transaction::Due;
                let reread = reread.filter(|_| has_begun || !rows.is_empty());
                if rows.is_empty() && reread.is_none() {
                    return Ok(());
                }
                let conn: &AsyncPgConnection = pg.in_transaction().await.map_err(store_error)?;
                let read = async {
                    match &reread {
                        Some(reread) => reread.at_end(conn).await,
                        None => Ok(()),
                    }
                };
                let (written, read) = join(write_together(conn, &rows), read).await;
                let result = written.and_then(|delivered| read.map(|()| delivered));
                self.woken.record(&pg.note(result).map_err(store_error)?)?;
            }
            Conn::Sqlite(conn) => {
                let mut delivered = Vec::new();
                for row in &rows {
                    match row {
                        Row::Email(row) => rows::insert_email!(row, conn),
                        Row::SignInName(row) => rows::insert_sign_in_name!(row, conn),
                        Row::User(update) => rows::update_user!(update, conn),
                        Row::Entry(row) => entry_row::insert_entry!(&**row, conn),
                        Row::FanOut(row) => row.on_sqlite(conn).await.map(|one| {
                            delivered.push(one);
                            0
                        }),
                        Row::Grant(row) => grant_row::insert_grant!(row, conn),
                        Row::Delivery(row) => webhooks::insert_delivery!(&**row, conn),
                    }
                    .map_err(store_error)?;
                }
                self.woken.record(&delivered)?;
            }
        }
        Ok(())
    }

    /// Sends BEGIN if it is due.
    pub(crate) async fn begin(&mut self) -> StoreResult<()> {
        match &mut self.conn {
            Conn::Postgres(pg) => pg.in_transaction().await.map(drop).map_err(store_error),
            Conn::Sqlite(_) => Ok(()),
        }
    }

    /// Returns the state of the transaction.
    pub(crate) fn transaction(&self) -> Transaction {
        match &self.conn {
            Conn::Postgres(pg) => pg.transaction,
            Conn::Sqlite(_) => Transaction::None,
        }
    }

    /// Ends the transaction with this statement.
    pub(crate) async fn end(&mut self, statement: &str) -> StoreResult<()> {
        let Conn::Postgres(pg) = &mut self.conn else { return Ok(()) };
        pg.object.batch_execute(statement).await.map_err(store_error)
    }

    /// Disables the statement timeout, for full scans.
    pub(crate) async fn without_limit(&mut self) -> StoreResult<()> {
        let Conn::Postgres(pg) = &mut self.conn else { return Ok(()) };
        let conn = pg.in_transaction().await.map_err(store_error)?;
        conn.batch_execute("SET LOCAL statement_timeout = 0").await.map_err(store_error)
    }

    pub(crate) fn into_conn(self) -> Conn {
        self.conn
    }
}

/// Pipelines the inserts of all rows. Returns the subscriptions that received a delivery.
async fn write_together(conn: &AsyncPgConnection, rows: &[Row]) -> QueryResult<Vec<FannedOut>> {
    let inserts = rows.iter().map(async |row| {
        let mut conn = conn;
        if let Row::FanOut(row) = row {
            return row.on_postgres(conn).await;
        }
        match row {
            Row::Email(row) => rows::insert_email!(row, &mut conn),
            Row::SignInName(row) => rows::insert_sign_in_name!(row, &mut conn),
            Row::User(update) => rows::update_user!(update, &mut conn),
            Row::Entry(row) => entry_row::insert_entry!(&**row, &mut conn),
            Row::FanOut(_) => Ok(0),
            Row::Grant(row) => grant_row::insert_grant!(row, &mut conn),
            Row::Delivery(row) => webhooks::insert_delivery!(&**row, &mut conn),
        }
        .map(|_| FannedOut::default())
    });
    futures_util::future::try_join_all(inserts).await
}

/// States why a change needs no audit entry.
pub(crate) const fn unaudited(_: Unaudited) {}

/// Runs a read-only query on either database: `read!(tx, c => query.first(c).await.optional())`.
macro_rules! read {
    ($tx:expr, $c:ident => $query:expr) => {
        $crate::conn::on!($tx.db.reading().await?, $c => $query)
    };
}

/// Runs a statement that writes, and records whether it changed rows: `change!(tx, c => query.execute(c).await)`.
macro_rules! change {
    ($tx:expr, $c:ident => $query:expr) => {{
        let result = $crate::conn::on!($tx.db.changing().await?, $c => $query);
        $tx.db.note(result)
    }};
}

/// Runs a statement that writes but needs no audit entry, for the given reason.
macro_rules! change_unaudited {
    ($tx:expr, $reason:expr, $c:ident => $query:expr) => {{
        $crate::db::unaudited($reason);
        $crate::conn::on!($tx.db.changing().await?, $c => $query)
    }};
}

/// Reads rows and, in a unit of work that writes, locks them until its end: `lock!(tx, for_update, first, query)`.
/// SQLite has a single writer and needs no row locks.
macro_rules! lock {
    ($tx:expr, $lock:ident, $read:ident, $query:expr) => {{
        let is_writable = $tx.db.is_writable();
        match ($tx.db.reading().await?, is_writable) {
            ($crate::conn::Conn::Postgres(pg), true) => {
                $crate::conn::on_postgres!(pg, c => $query.$lock().$read(c).await.optional())
                    .map_err($crate::error::store_error)
            }
            (conn, _) => $crate::conn::on!(conn, c => $query.$read(c).await.optional()),
        }
    }};
}
pub(crate) use {change, change_unaudited, lock, read};
