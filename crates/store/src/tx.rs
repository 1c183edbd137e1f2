//! One unit of work of one tenant.

use std::time::Instant;

use audit::{AuditStore, Audited, Entry, EntryKeys, Event};
use diesel::QueryResult;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::join;
use kernel::{Ctx, StoreError, TenantId};

use crate::{
    audit_entries::{self, EntryRow},
    conn::{Conn, Transaction},
    credential::{CredentialKey, Reread},
    error::store_error,
    step_up::{self, GrantRow},
    users::{self, EmailRow, SignInNameRow, UserUpdate},
    webhooks::{self, DeliveryRow, FanOut, Told, Woken},
};

/// A unit of work. It belongs to one tenant and sees nothing of any other; it implements the storage
/// trait of every area. Dropped without a commit it is rolled back.
pub struct Tx {
    pub(crate) conn: Conn,
    pub(crate) tenant: TenantId,
    pub(crate) writable: bool,
    /// Whether a statement changed something, which asks for an entry.
    changed: bool,
    /// Whether rows that waited could not be written.
    failed: bool,
    /// Rows that nothing in the unit of work has to see: written together just before the commit.
    pending: Vec<Row>,
    /// The credential that it is run with, see [`Tx::credential`].
    pub(crate) reread: Option<Reread>,
    /// The user whose row is held until the end.
    pub(crate) held: Option<String>,
    /// Who is told once it is committed.
    pub(crate) woken: Woken,
    /// When a scan that can stop halfway should: it is stopped later, and then answers nothing.
    pub(crate) until: Option<Instant>,
    /// Make the MACs of entries.
    pub(crate) entry_keys: EntryKeys,
}

/// A row that waits for the end of the unit of work.
pub(crate) enum Row {
    Email(EmailRow),
    SignInName(SignInNameRow),
    User(Box<UserUpdate>),
    Entry(Box<EntryRow>),
    FanOut(FanOut),
    Grant(Box<GrantRow>),
    Delivery(Box<DeliveryRow>),
}

impl Tx {
    pub(crate) fn reading(conn: Conn, tenant: TenantId) -> Self {
        Self::new(conn, tenant, false, EntryKeys::none())
    }

    /// For work that changes something, by the holder of a credential where there is one.
    pub(crate) fn writing(
        mut conn: Conn,
        tenant: TenantId,
        key: Option<CredentialKey>,
        entry_keys: EntryKeys,
    ) -> Self {
        let reread = key.map(|key| Reread::new(tenant.clone(), key));
        if let Conn::Postgres(pg) = &mut conn {
            pg.reread.clone_from(&reread);
        }
        Self { reread, ..Self::new(conn, tenant, true, entry_keys) }
    }

    fn new(conn: Conn, tenant: TenantId, writable: bool, entry_keys: EntryKeys) -> Self {
        Self {
            conn,
            tenant,
            writable,
            changed: false,
            failed: false,
            pending: Vec::new(),
            reread: None,
            held: None,
            woken: Woken::default(),
            until: None,
            entry_keys,
        }
    }

    /// Refuses to change anything in a unit of work that was opened for reading.
    pub(crate) fn for_change(&self) -> Result<(), StoreError> {
        if self.writable {
            Ok(())
        } else {
            Err(StoreError::Aborted("a change in a unit of work for reading"))
        }
    }

    /// Remembers whether a statement changed something.
    pub(crate) fn note_change(&mut self, changed: bool) -> bool {
        self.changed |= changed;
        changed
    }

    /// Whether it may be committed: nothing failed, and what changed has something for the ledger.
    fn may_commit(&self, events: usize) -> Result<(), StoreError> {
        if self.failed {
            return Err(StoreError::Aborted("it went on after a failed statement"));
        }
        if self.changed && events == 0 {
            return Err(StoreError::Aborted("a change without an audit entry"));
        }
        Ok(())
    }

    pub(crate) fn later(&mut self, row: Row) {
        self.pending.push(row);
    }

    /// Writes the rows that wait: in one go where the database takes several statements at once.
    pub(crate) async fn flush(&mut self) -> Result<(), StoreError> {
        self.write_pending(None).await
    }

    async fn write_pending(&mut self, reread: Option<Reread>) -> Result<(), StoreError> {
        let written = self.send_pending(reread).await;
        self.failed |= written.is_err();
        written
    }

    async fn send_pending(&mut self, reread: Option<Reread>) -> Result<(), StoreError> {
        let rows = std::mem::take(&mut self.pending);
        match &mut self.conn {
            Conn::Postgres(pg) => {
                let has_begun = pg.transaction != Transaction::Due;
                let reread = reread.filter(|_| has_begun || !rows.is_empty());
                if rows.is_empty() && reread.is_none() {
                    return Ok(());
                }
                let conn: &AsyncPgConnection = pg.begun().await.map_err(store_error)?;
                let read = async {
                    match &reread {
                        Some(reread) => reread.at_end(conn).await,
                        None => Ok(()),
                    }
                };
                let (written, read) = join(write_together(conn, &rows), read).await;
                let result = written.and_then(|told| read.map(|()| told));
                self.woken.told(&pg.note(result).map_err(store_error)?)?;
            }
            Conn::Sqlite(conn) => {
                let mut told_of = Vec::new();
                for row in &rows {
                    match row {
                        Row::Email(row) => users::insert_email!(row, conn),
                        Row::SignInName(row) => users::insert_sign_in_name!(row, conn),
                        Row::User(update) => users::update_user!(update, conn),
                        Row::Entry(row) => audit_entries::insert_entry!(&**row, conn),
                        Row::FanOut(row) => row.on_sqlite(conn).await.map(|told| {
                            told_of.extend(told);
                            0
                        }),
                        Row::Grant(row) => step_up::insert_grant!(row, conn),
                        Row::Delivery(row) => webhooks::insert_delivery!(&**row, conn),
                    }
                    .map_err(store_error)?;
                }
                self.woken.told(&told_of)?;
            }
        }
        Ok(())
    }

    /// Enters what the unit of work has to say and writes the rows that wait. On PostgreSQL the credential is read again with them:
    /// since the transaction began others may have committed what takes it away, while a statement waited for their locks.
    /// See [`Tx::credential_at_end`].
    pub async fn enter(&mut self, ctx: &Ctx, events: Vec<Event>) -> Result<(), StoreError> {
        self.append_events(ctx, events).await?;
        self.changed = false;
        self.write_pending(self.reread.clone()).await
    }

    async fn append_events(&mut self, ctx: &Ctx, events: Vec<Event>) -> Result<(), StoreError> {
        self.may_commit(events.len())?;
        let entries: Vec<_> = events.into_iter().map(|event| Entry::new(ctx, event)).collect();
        self.append(&entries).await
    }

    /// Lets statements take as long as they do, for whoever looks at everything.
    pub(crate) async fn without_limit(&mut self) -> Result<(), StoreError> {
        let Conn::Postgres(pg) = &mut self.conn else { return Ok(()) };
        let conn = pg.begun().await.map_err(store_error)?;
        conn.batch_execute("SET LOCAL statement_timeout = 0").await.map_err(store_error)
    }

    pub(crate) fn into_conn(self) -> Conn {
        self.conn
    }
}

/// Runs the work of a transaction of either database and enters what the ledger has to say.
pub(crate) async fn finish<T, E: From<StoreError>>(
    ctx: &Ctx,
    tx: &mut Tx,
    work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E>,
) -> Result<T, E> {
    tx.reread_at_once().await?;
    let (value, events) = work(ctx, tx).await?.into_parts();
    tx.append_events(ctx, events).await?;
    tx.flush().await?;
    Ok(value)
}

/// Sends all rows before it waits for the first answer. Answers which subscriptions got a delivery.
async fn write_together(conn: &AsyncPgConnection, rows: &[Row]) -> QueryResult<Vec<Told>> {
    let inserts = rows.iter().map(async |row| {
        let mut conn = conn;
        if let Row::FanOut(row) = row {
            return row.on_postgres(conn).await;
        }
        match row {
            Row::Email(row) => users::insert_email!(row, &mut conn),
            Row::SignInName(row) => users::insert_sign_in_name!(row, &mut conn),
            Row::User(update) => users::update_user!(update, &mut conn),
            Row::Entry(row) => audit_entries::insert_entry!(&**row, &mut conn),
            Row::FanOut(_) => Ok(0),
            Row::Grant(row) => step_up::insert_grant!(row, &mut conn),
            Row::Delivery(row) => webhooks::insert_delivery!(&**row, &mut conn),
        }
        .map(|_| Vec::new())
    });
    Ok(futures_util::future::try_join_all(inserts).await?.into_iter().flatten().collect())
}
