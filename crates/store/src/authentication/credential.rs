//! Reads a credential with its holder and the tenant's policies in one statement.
//!
//! The middleware reads it when a request arrives ([`Across::credential`]). A unit of work that writes reads it again
//! inside its transaction ([`Tx::credential`]), so a credential revoked during the request changes nothing. On
//! PostgreSQL this read is pipelined with BEGIN and the first statement, and repeated with the last statements
//! ([`Tx::credential_at_end`]), because the work may have waited for locks in between.

use kernel::{StoreError, StoreResult, TenantId};

use super::reread::{Credential, CredentialKey, ReadCredential, RereadResult};
use crate::{Across, Tx, conn::on, db::read, dialect::Dialect};

impl Across {
    /// Returns the credential with this key in the given tenant.
    pub async fn credential(
        &mut self,
        tenant: &TenantId,
        key: &CredentialKey,
    ) -> StoreResult<Option<Credential>> {
        let row = on!(&mut self.conn, c => c.read_credential(tenant, key).await)?;
        row.map(Credential::try_from).transpose()
    }
}

impl Tx {
    /// Returns the current state of the credential with this key.
    pub async fn find_credential(&mut self, key: &CredentialKey) -> StoreResult<Option<Credential>> {
        let row = read!(self, c => c.read_credential(&self.tenant, key).await)?;
        row.map(Credential::try_from).transpose()
    }

    /// Returns this unit of work's credential as of the start of the transaction. `None` if it no longer exists or
    /// the work runs without one.
    pub async fn credential(&mut self) -> StoreResult<Option<Credential>> {
        let Some(reread) = self.reread.clone() else { return Ok(None) };
        // Sent with the first statement. If there was none, it is sent now.
        let begun = self.db.begin().await;
        match reread.take().credential {
            Some(found) => found,
            None => begun.and(Err(StoreError::Aborted("the credential was not read again"))),
        }
    }

    /// Returns the credential as [`Tx::record`] read it, if others can have changed it since the transaction began.
    /// `None` if this unit of work itself changed the credential or its holder, because it made that decision itself,
    /// and if it wrote nothing.
    pub fn credential_at_end(&mut self) -> StoreResult<Option<CredentialAtCommit>> {
        let (Dialect::Postgres, Some(reread)) = (self.db.dialect(), &self.reread) else { return Ok(None) };
        let RereadResult { credential, own, own_roles } = reread.take();
        let Some(credential) = credential.transpose()? else { return Ok(None) };
        let at_commit = CredentialAtCommit { credential, own_policies: own.policies, own_roles };
        Ok((!own.credential).then_some(at_commit))
    }

    /// Notes that this unit of work changes a role or a rule, which may be one of its caller's.
    pub(crate) fn note_own_roles(&self) {
        if let Some(reread) = &self.reread {
            reread.note_own_roles();
        }
    }

    /// Reads the credential again on databases without pipelining.
    pub(crate) async fn reread_at_once(&mut self) -> StoreResult<()> {
        if let (Some(reread), Dialect::Sqlite) = (self.reread.clone(), self.db.dialect()) {
            let row = read!(self, c => c.read_credential(&reread.tenant, &reread.key).await)?;
            reread.store_row(Ok(row));
        }
        Ok(())
    }
}

/// A credential at the end of a unit of work.
#[derive(Debug, Clone)]
pub struct CredentialAtCommit {
    /// The credential with the changes that others committed; `None` if it no longer exists, such as a session that
    /// got another ID.
    pub credential: Option<Credential>,
    /// Whether this unit of work itself changed the tenant's policies.
    pub own_policies: bool,
    /// Whether this unit of work itself changed a role, or a rule that gives one.
    pub own_roles: bool,
}
