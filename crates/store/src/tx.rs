//! A unit of work of one tenant.

use std::time::Instant;

use audit::{AuditStore, Audited, Entry, EntryKeys, Event};
use kernel::{Ctx, StoreError, StoreResult, TenantId};

use crate::{
    authentication::reread::{CredentialKey, CredentialReread},
    conn::Conn,
    db::Db,
    signals::ChangedEmail,
};

/// A unit of work. It belongs to one tenant, cannot access any other, and implements the storage trait of every area.
/// Dropping it without a commit rolls it back.
pub struct Tx {
    pub(crate) db: Db,
    pub(crate) tenant: TenantId,
    /// The credential that it runs with, see [`Tx::credential`].
    pub(crate) reread: Option<CredentialReread>,
    /// The user whose row is locked until the end of the transaction.
    pub(crate) locked_user: Option<String>,
    /// When a scan that can return a partial result should stop. Shortly after, it is cancelled without a result.
    pub(crate) until: Option<Instant>,
    /// Keys for the MACs of audit entries.
    pub(crate) entry_keys: EntryKeys,
    /// Email addresses that the unit of work has changed or deleted.
    pub(crate) changed_emails: Vec<ChangedEmail>,
}

impl Tx {
    pub(crate) fn reading(conn: Conn, tenant: TenantId) -> Self {
        Self::new(conn, tenant, false, EntryKeys::none())
    }

    /// Creates a unit of work that writes, optionally for the holder of a credential.
    pub(crate) fn writing(
        mut conn: Conn,
        tenant: TenantId,
        key: Option<CredentialKey>,
        entry_keys: EntryKeys,
    ) -> Self {
        let reread = key.map(|key| CredentialReread::new(tenant.clone(), key));
        if let Conn::Postgres(pg) = &mut conn {
            pg.reread.clone_from(&reread);
        }
        Self { reread, ..Self::new(conn, tenant, true, entry_keys) }
    }

    fn new(conn: Conn, tenant: TenantId, is_writable: bool, entry_keys: EntryKeys) -> Self {
        Self {
            db: Db::new(conn, is_writable),
            tenant,
            reread: None,
            locked_user: None,
            until: None,
            entry_keys,
            changed_emails: Vec::new(),
        }
    }

    /// Records audit events and writes pending rows. On PostgreSQL the credential is read again with them, because
    /// others may have revoked it while a statement waited for locks. See [`Tx::credential_at_end`].
    pub async fn record(&mut self, ctx: &Ctx, events: Vec<Event>) -> StoreResult<()> {
        self.append_events(ctx, events).await?;
        self.db.set_audited();
        self.db.write_pending(self.reread.clone()).await
    }

    async fn append_events(&mut self, ctx: &Ctx, events: Vec<Event>) -> StoreResult<()> {
        self.db.may_commit(events.len())?;
        self.append(&Entry::all(ctx, events)).await
    }

    pub(crate) fn into_conn(self) -> Conn {
        self.db.into_conn()
    }
}

/// The error of a unit of work, which must be able to represent storage errors.
pub trait Failure: From<StoreError> + Send + 'static {}

impl<E: From<StoreError> + Send + 'static> Failure for E {}

/// Runs the work of a transaction on either database and records its audit events.
pub(crate) async fn finish<T, E: From<StoreError>>(
    ctx: &Ctx,
    tx: &mut Tx,
    work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, E>,
) -> Result<T, E> {
    tx.reread_at_once().await?;
    let (value, events) = work(ctx, tx).await?.into_parts();
    tx.append_events(ctx, events).await?;
    tx.db.flush().await?;
    Ok(value)
}
