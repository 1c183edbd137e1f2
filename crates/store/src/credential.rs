//! A credential with its holder and the tenant's policies: one statement.
//!
//! The middleware reads it once when a request arrives ([`Across::credential`]). A unit of work that changes something
//! reads it again inside its transaction ([`Tx::credential`]), so that what was revoked while the body was on its way
//! changes nothing. On PostgreSQL that statement travels with BEGIN and the first statement of the work, and once more with the
//! last ones ([`Tx::credential_at_end`]): in between the work may have waited for locks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diesel::{QueryResult, dsl, prelude::*, sql_types::Bool};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::join;
use kernel::{StoreError, TenantId};
use sessions::{Session, SessionId};
use tokens::{Pat, ScimToken, TokenHash};

use crate::{
    Across, Holder, Tx,
    conn::on,
    db::read,
    error::store_error,
    filter::Dialect,
    holders::{HolderRow, POLICIES, PoliciesRow},
    json::JsonText,
    kept::Kept,
    network::NetworkMark,
    pats::{PatRow, pat_limits},
    schema::{personal_access_tokens as pats, scim_tokens, sessions as session_rows, tenants, users},
    scim_tokens::ScimTokenRow,
    sessions::SessionRow,
};

/// What a credential is found by within its tenant.
#[derive(Debug, Clone)]
pub enum CredentialKey {
    /// A session, by its id.
    Session(SessionId),
    /// A personal access token, by its hash.
    Pat(TokenHash),
    /// A SCIM token, by its hash.
    ScimToken(TokenHash),
}

/// A credential as it is kept, revoked or not.
#[derive(Debug, Clone)]
pub enum Credential {
    /// A session and its user.
    Session(Session, Holder),
    /// A personal access token and its user.
    Pat(Pat, Holder),
    /// A SCIM token, and the network policy of its tenant.
    ScimToken(ScimToken, NetworkMark),
}

/// The row of a credential.
enum CredentialRow {
    Session(SessionRow, HolderRow, PoliciesRow),
    Pat(PatRow, HolderRow, PoliciesRow),
    ScimToken(ScimTokenRow, Option<JsonText>),
}

impl TryFrom<CredentialRow> for Credential {
    type Error = StoreError;

    fn try_from(row: CredentialRow) -> Result<Self, StoreError> {
        Ok(match row {
            CredentialRow::Session(session, holder, policies) => {
                Self::Session(session.try_into()?, holder.with(policies)?)
            }
            CredentialRow::Pat(pat, holder, policies) => {
                let (pat, holder) = (Pat::try_from(pat)?, holder.with(policies)?);
                // What the tenant allows today holds for tokens that were minted before.
                Self::Pat(pat.within(&pat_limits(&holder.policy)), holder)
            }
            CredentialRow::ScimToken(token, network) => {
                Self::ScimToken(token.try_into()?, NetworkMark::of(network)?)
            }
        })
    }
}

/// The row of a session with its user and tenant.
macro_rules! session_row {
    ($tenant:expr, $id:expr) => {
        session_rows::table
            .inner_join(
                users::table.on(users::tenant_id
                    .eq(session_rows::tenant_id)
                    .and(users::id.eq(session_rows::user_id))),
            )
            .inner_join(tenants::table.on(tenants::id.eq(session_rows::tenant_id)))
            .filter(session_rows::tenant_id.eq($tenant.as_str()))
            .filter(session_rows::id.eq($id.as_str()))
    };
}

/// The row of a personal access token with its user and tenant.
macro_rules! pat_row {
    ($tenant:expr, $hash:expr) => {
        pats::table
            .inner_join(
                users::table.on(users::tenant_id.eq(pats::tenant_id).and(users::id.eq(pats::user_id))),
            )
            .inner_join(tenants::table.on(tenants::id.eq(pats::tenant_id)))
            .filter(pats::tenant_id.eq($tenant.as_str()))
            .filter(pats::hash.eq(&$hash.as_bytes()[..]))
    };
}

/// Reads the row of a credential on a connection to either database.
macro_rules! find_row {
    ($tenant:expr, $key:expr, $conn:expr) => {
        match $key {
            CredentialKey::Session(id) => session_row!($tenant, id)
                .select((SessionRow::as_select(), HolderRow::as_select(), POLICIES))
                .first($conn)
                .await
                .optional()
                .map(|row| row.map(|(session, holder, of)| CredentialRow::Session(session, holder, of))),
            CredentialKey::Pat(hash) => pat_row!($tenant, hash)
                .select((PatRow::as_select(), HolderRow::as_select(), POLICIES))
                .first($conn)
                .await
                .optional()
                .map(|row| row.map(|(pat, holder, of)| CredentialRow::Pat(pat, holder, of))),
            CredentialKey::ScimToken(hash) => scim_tokens::table
                .inner_join(tenants::table.on(tenants::id.eq(scim_tokens::tenant_id)))
                .filter(scim_tokens::tenant_id.eq($tenant.as_str()))
                .filter(scim_tokens::hash.eq(hash.as_bytes()))
                .select((ScimTokenRow::as_select(), tenants::network_policy))
                .first($conn)
                .await
                .optional()
                .map(|row| row.map(|(token, network)| CredentialRow::ScimToken(token, network))),
        }
    };
}

impl Across {
    /// The credential of this key in the tenant that it names.
    pub async fn credential(
        &mut self,
        tenant: &TenantId,
        key: &CredentialKey,
    ) -> Result<Option<Credential>, StoreError> {
        let row = on!(&mut self.conn, c => find_row!(tenant, key, c))?;
        row.map(Credential::try_from).transpose()
    }
}

impl Tx {
    /// The credential of this key in the unit of work's tenant, as it is now.
    pub async fn find_credential(&mut self, key: &CredentialKey) -> Result<Option<Credential>, StoreError> {
        let row = read!(self, c => find_row!(self.tenant, key, c))?;
        row.map(Credential::try_from).transpose()
    }

    /// The credential that this unit of work is run with, as it was when the transaction began; `None` where it is gone
    /// or the work is run with none.
    pub async fn credential(&mut self) -> Result<Option<Credential>, StoreError> {
        let Some(reread) = self.reread.clone() else { return Ok(None) };
        // Sent with the first statement; where there was none, now.
        let begun = self.db.begin().await;
        match reread.take().credential {
            Some(found) => found,
            None => begun.and(Err(StoreError::Aborted("the credential was not read again"))),
        }
    }

    /// The same as [`Tx::enter`] has found it, where others can have changed it since the transaction began. `None` too
    /// where the unit of work has itself changed the credential or its holder: it has judged what it did.
    pub fn credential_at_end(&mut self) -> Result<Option<AtEnd>, StoreError> {
        let (Dialect::Postgres, Some(reread)) = (self.db.dialect(), &self.reread) else { return Ok(None) };
        let Found { credential, own } = reread.take();
        let Some(credential) = credential.transpose()?.flatten() else { return Ok(None) };
        Ok((!own.credential).then_some(AtEnd { credential, own_policies: own.policies }))
    }

    /// Reads the credential again where statements are not sent ahead.
    pub(crate) async fn reread_at_once(&mut self) -> Result<(), StoreError> {
        if let (Some(reread), Dialect::Sqlite) = (self.reread.clone(), self.db.dialect()) {
            let row = read!(self, c => find_row!(reread.tenant, &reread.key, c))?;
            reread.keep(Ok(row));
        }
        Ok(())
    }
}

/// A credential at the end of a unit of work.
#[derive(Debug, Clone)]
pub struct AtEnd {
    /// As others have left it.
    pub credential: Credential,
    /// Whether the unit of work has itself changed the tenant's policies.
    pub own_policies: bool,
}

/// Rows of a credential that the transaction itself has changed.
#[derive(Debug, Clone, Copy, Default)]
struct OwnChanges {
    /// Of the credential or its user.
    credential: bool,
    /// Of the tenant.
    policies: bool,
}

/// A credential that a transaction reads again, and what was found last.
#[derive(Clone)]
pub(crate) struct Reread {
    tenant: TenantId,
    key: CredentialKey,
    found: Arc<Mutex<Found>>,
}

#[derive(Default)]
struct Found {
    /// `None` before it was read, and once it was taken.
    credential: Option<Result<Option<Credential>, StoreError>>,
    own: OwnChanges,
}

impl Reread {
    pub(crate) fn new(tenant: TenantId, key: CredentialKey) -> Self {
        Self { tenant, key, found: Arc::default() }
    }

    /// Sends the statement on a connection whose transaction has begun, or is sent before. Where it has to be prepared
    /// first, a statement that is sent with it may overtake it: what such work changes must not be what it is judged by.
    pub(crate) async fn on_postgres(&self, conn: &AsyncPgConnection) -> QueryResult<()> {
        let mut conn = conn;
        let row: QueryResult<_> = find_row!(self.tenant, &self.key, &mut conn);
        // The unit of work that asks for the credential gets this error; the statement that was sent with it, that nothing
        // was done.
        let sent = if row.is_ok() { Ok(()) } else { Err(diesel::result::Error::BrokenTransactionManager) };
        self.keep(row.map_err(store_error));
        sent
    }

    /// The same once more at the end, with what the transaction itself has changed.
    pub(crate) async fn at_end(&self, conn: &AsyncPgConnection) -> QueryResult<()> {
        let (read, own) = join(self.on_postgres(conn), self.own_changes(conn)).await;
        self.lock().own = own?;
        read
    }

    async fn own_changes(&self, conn: &AsyncPgConnection) -> QueryResult<OwnChanges> {
        let mut conn = conn;
        let own_tenant = dsl::sql::<Bool>("tenants.xmin = pg_current_xact_id()::xid");
        let found: Vec<(bool, bool)> = match &self.key {
            CredentialKey::Session(id) => {
                let own = dsl::sql::<Bool>("pg_current_xact_id()::xid IN (users.xmin, sessions.xmin)");
                Kept(session_row!(self.tenant, id).select((own, own_tenant))).load(&mut conn).await?
            }
            CredentialKey::Pat(hash) => {
                let own = dsl::sql::<Bool>(
                    "pg_current_xact_id()::xid IN (users.xmin, personal_access_tokens.xmin)",
                );
                Kept(pat_row!(self.tenant, hash).select((own, own_tenant))).load(&mut conn).await?
            }
            // An identity provider changes neither its token nor policies.
            CredentialKey::ScimToken(_) => Vec::new(),
        };
        let (credential, policies) = found.into_iter().next().unwrap_or_default();
        Ok(OwnChanges { credential, policies })
    }

    fn keep(&self, row: Result<Option<CredentialRow>, StoreError>) {
        self.lock().credential = Some(row.and_then(|row| row.map(Credential::try_from).transpose()));
    }

    fn take(&self) -> Found {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
