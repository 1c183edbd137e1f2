//! Reads a credential again and keeps the result.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diesel::{QueryResult, dsl, prelude::*, sql_types::Bool};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use kernel::{StoreError, StoreResult, TenantId};
use sessions::{Session, SessionId};
use signals::Receiver;
use tokens::{Pat, ScimToken, TokenHash};

use super::holder::{Holder, HolderRow, POLICIES, PoliciesRow};
use crate::{
    directory::held_roles::{SessionHeldRow, TokenHeldRow},
    error::store_error,
    json::JsonText,
    netpolicy::mark::NetworkMark,
    prepared::{Kept, Prepared},
    schema::{
        personal_access_tokens as pats, scim_tokens, sessions as session_rows, signal_receivers as receivers,
        tenants, users,
    },
    sessions::row::SessionRow,
    signals::receiver_row::ReceiverRow,
    sqlite_conn::SqliteConn,
    tokens::rows::{PatRow, ScimTokenRow, pat_limits},
};

/// The key of a credential within its tenant.
#[derive(Debug, Clone)]
pub enum CredentialKey {
    /// A session, by its id.
    Session(SessionId),
    /// A personal access token, by its hash.
    Pat(TokenHash),
    /// A SCIM token, by its hash.
    ScimToken(TokenHash),
    /// The token of a receiver of shared signals, by its hash.
    Receiver(TokenHash),
}

/// A stored credential, revoked or not.
#[derive(Debug, Clone)]
pub enum Credential {
    /// A session and its user.
    Session(Session, Holder),
    /// A personal access token and its user.
    Pat(Pat, Holder),
    /// A SCIM token, and the network policy of its tenant.
    ScimToken(ScimToken, NetworkMark),
    /// A receiver of shared signals, and the network policy of its tenant.
    Receiver(Receiver, NetworkMark),
}

/// The row of a credential.
pub(crate) enum CredentialRow {
    Session(SessionRow, HolderRow, SessionHeldRow, PoliciesRow),
    Pat(PatRow, HolderRow, TokenHeldRow, PoliciesRow),
    ScimToken(ScimTokenRow, Option<JsonText>),
    Receiver(ReceiverRow, Option<JsonText>),
}

impl TryFrom<CredentialRow> for Credential {
    type Error = StoreError;

    fn try_from(row: CredentialRow) -> StoreResult<Self> {
        Ok(match row {
            CredentialRow::Session(session, holder, roles, policies) => {
                Self::Session(session.try_into()?, holder.with(roles.held()?, policies)?)
            }
            CredentialRow::Pat(pat, holder, roles, policies) => {
                let (pat, holder) = (Pat::try_from(pat)?, holder.with(roles.held()?, policies)?);
                // The tenant's current policy also limits tokens that were issued earlier.
                Self::Pat(pat.within(&pat_limits(&holder.policy)), holder)
            }
            CredentialRow::ScimToken(token, network) => {
                Self::ScimToken(token.try_into()?, NetworkMark::of(network)?)
            }
            CredentialRow::Receiver(receiver, network) => {
                Self::Receiver(receiver.try_into()?, NetworkMark::of(network)?)
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

/// Reads these columns of the first row, if there is one.
macro_rules! first {
    ($query:expr, $columns:expr, $conn:expr) => {
        Kept($query.select($columns).limit(1)).get_result($conn).await.optional()
    };
}

/// Reads the row of a credential on a connection to either database.
macro_rules! find_row {
    ($tenant:expr, $key:expr, $conn:expr) => {
        match $key {
            CredentialKey::Session(id) => {
                let query = session_row!($tenant, id);
                let columns =
                    (SessionRow::as_select(), HolderRow::as_select(), SessionHeldRow::of($tenant), POLICIES);
                let row = first!(query, columns, $conn)?;
                row.map(|(session, holder, roles, of)| CredentialRow::Session(session, holder, roles, of))
            }
            CredentialKey::Pat(hash) => {
                let query = pat_row!($tenant, hash);
                let columns =
                    (PatRow::as_select(), HolderRow::as_select(), TokenHeldRow::of($tenant), POLICIES);
                let row = first!(query, columns, $conn)?;
                row.map(|(pat, holder, roles, of)| CredentialRow::Pat(pat, holder, roles, of))
            }
            CredentialKey::ScimToken(hash) => {
                let query = scim_tokens::table
                    .inner_join(tenants::table.on(tenants::id.eq(scim_tokens::tenant_id)))
                    .filter(scim_tokens::tenant_id.eq($tenant.as_str()))
                    .filter(scim_tokens::hash.eq(hash.as_bytes()));
                let row = first!(query, (ScimTokenRow::as_select(), tenants::network_policy), $conn)?;
                row.map(|(token, network)| CredentialRow::ScimToken(token, network))
            }
            CredentialKey::Receiver(hash) => {
                let query = receivers::table
                    .inner_join(tenants::table.on(tenants::id.eq(receivers::tenant_id)))
                    .filter(receivers::tenant_id.eq($tenant.as_str()))
                    .filter(receivers::hash.eq(hash.as_bytes()));
                let row = first!(query, (ReceiverRow::as_select(), tenants::network_policy), $conn)?;
                row.map(|(receiver, network)| CredentialRow::Receiver(receiver, network))
            }
        }
    };
}

/// Reads the row of a credential.
pub(crate) trait ReadCredential {
    fn read_credential(
        &mut self,
        tenant: &TenantId,
        key: &CredentialKey,
    ) -> impl Future<Output = QueryResult<Option<CredentialRow>>> + Send;
}

impl ReadCredential for &AsyncPgConnection {
    async fn read_credential(
        &mut self,
        tenant: &TenantId,
        key: &CredentialKey,
    ) -> QueryResult<Option<CredentialRow>> {
        Ok(find_row!(tenant, key, self))
    }
}

impl ReadCredential for SqliteConn {
    async fn read_credential(
        &mut self,
        tenant: &TenantId,
        key: &CredentialKey,
    ) -> QueryResult<Option<CredentialRow>> {
        Ok(find_row!(tenant, key, self))
    }
}

/// The row of a credential of a user, and whether this transaction changed it or its user, and the tenant.
type WithOwnChanges<C, R> = (C, HolderRow, R, PoliciesRow, (bool, bool));

/// Which of a credential's rows the transaction itself changed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OwnChanges {
    /// Whether it changed the credential or its user.
    pub(crate) credential: bool,
    /// Whether it changed the tenant.
    pub(crate) policies: bool,
}

/// A credential that a transaction reads again, with the last result.
#[derive(Clone)]
pub(crate) struct CredentialReread {
    pub(crate) tenant: TenantId,
    pub(crate) key: CredentialKey,
    found: Arc<Mutex<RereadResult>>,
}

#[derive(Default)]
pub(crate) struct RereadResult {
    /// `None` before the read, and after the result is taken.
    pub(crate) credential: Option<StoreResult<Option<Credential>>>,
    pub(crate) own: OwnChanges,
    /// Whether the transaction changed a role or a rule.
    pub(crate) own_roles: bool,
}

impl CredentialReread {
    pub(crate) fn new(tenant: TenantId, key: CredentialKey) -> Self {
        Self { tenant, key, found: Arc::default() }
    }

    /// Follows a session whose ID this transaction has changed.
    pub(crate) fn follow(&mut self, id: &SessionId, new: &SessionId) {
        if let CredentialKey::Session(current) = &mut self.key
            && current == id
        {
            current.clone_from(new);
        }
    }

    /// Sends the statement on a connection with a transaction, or with a BEGIN that was sent first. If it must be
    /// prepared first, a pipelined statement may run before it, so the pipelined work must not change the
    /// rows that the credential is checked against.
    pub(crate) async fn on_postgres(&self, conn: &AsyncPgConnection) -> QueryResult<()> {
        let mut conn = conn;
        let row = conn.read_credential(&self.tenant, &self.key).await;
        // The unit of work gets this error when it requests the credential. The pipelined statement gets the error
        // that nothing was done.
        let sent = if row.is_ok() { Ok(()) } else { Err(diesel::result::Error::BrokenTransactionManager) };
        self.store_row(row.map_err(store_error));
        sent
    }

    /// Reads the credential at the end of the transaction, and which of its rows the transaction changed.
    pub(crate) async fn at_end(&self, conn: &AsyncPgConnection) -> QueryResult<()> {
        if let CredentialKey::ScimToken(_) | CredentialKey::Receiver(_) = self.key {
            // Neither an identity provider nor a receiver changes policies or what its token is checked against.
            return self.on_postgres(conn).await;
        }
        let (row, own) = self.with_own_changes(conn).await?.unzip();
        self.store_row(Ok(row));
        let (credential, policies) = own.unwrap_or_default();
        self.lock().own = OwnChanges { credential, policies };
        Ok(())
    }

    /// Reads the row of a session or personal access token. Also returns whether this transaction changed the credential
    /// or its user, and whether it changed the tenant.
    async fn with_own_changes(
        &self,
        mut conn: &AsyncPgConnection,
    ) -> QueryResult<Option<(CredentialRow, (bool, bool))>> {
        let own_tenant = dsl::sql::<Bool>("tenants.xmin = pg_current_xact_id()::xid");
        Ok(match &self.key {
            CredentialKey::Session(id) => {
                let own = dsl::sql::<Bool>("pg_current_xact_id()::xid IN (users.xmin, sessions.xmin)");
                let (user, roles) = (HolderRow::as_select(), SessionHeldRow::of(&self.tenant));
                let columns = (SessionRow::as_select(), user, roles, POLICIES, (own, own_tenant));
                let query = Prepared(session_row!(self.tenant, id).select(columns));
                let row: Option<WithOwnChanges<SessionRow, SessionHeldRow>> =
                    query.get_result(&mut conn).await.optional()?;
                row.map(|(session, holder, roles, of, own)| {
                    (CredentialRow::Session(session, holder, roles, of), own)
                })
            }
            CredentialKey::Pat(hash) => {
                let own = dsl::sql::<Bool>(
                    "pg_current_xact_id()::xid IN (users.xmin, personal_access_tokens.xmin)",
                );
                let (user, roles) = (HolderRow::as_select(), TokenHeldRow::of(&self.tenant));
                let columns = (PatRow::as_select(), user, roles, POLICIES, (own, own_tenant));
                let query = Prepared(pat_row!(self.tenant, hash).select(columns));
                let row: Option<WithOwnChanges<PatRow, TokenHeldRow>> =
                    query.get_result(&mut conn).await.optional()?;
                row.map(|(pat, holder, roles, of, own)| (CredentialRow::Pat(pat, holder, roles, of), own))
            }
            CredentialKey::ScimToken(_) | CredentialKey::Receiver(_) => None,
        })
    }

    pub(crate) fn store_row(&self, row: StoreResult<Option<CredentialRow>>) {
        self.lock().credential = Some(row.and_then(|row| row.map(Credential::try_from).transpose()));
    }

    pub(crate) fn note_own_roles(&self) {
        self.lock().own_roles = true;
    }

    pub(crate) fn take(&self) -> RereadResult {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, RereadResult> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
