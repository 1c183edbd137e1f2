//! A credential with its holder and the tenant's policies: one statement.
//!
//! The middleware reads it once when a request arrives ([`Across::credential`]). A unit of work that changes something
//! reads it again inside its transaction ([`Tx::credential`]), so that what was revoked while the body was on its way
//! changes nothing. On PostgreSQL that statement travels with BEGIN and the first statement of the work, and once more with the
//! last ones ([`Tx::credential_at_end`]): in between the work may have waited for locks.

use kernel::{StoreError, StoreResult, TenantId};

use super::reread::{Credential, CredentialKey, ReadCredential, RereadResult};
use crate::{Across, Tx, conn::on, db::read, dialect::Dialect};

impl Across {
    /// The credential of this key in the tenant that it names.
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
    /// The credential of this key in the unit of work's tenant, as it is now.
    pub async fn find_credential(&mut self, key: &CredentialKey) -> StoreResult<Option<Credential>> {
        let row = read!(self, c => c.read_credential(&self.tenant, key).await)?;
        row.map(Credential::try_from).transpose()
    }

    /// The credential that this unit of work is run with, as it was when the transaction began; `None` where it is gone
    /// or the work is run with none.
    pub async fn credential(&mut self) -> StoreResult<Option<Credential>> {
        let Some(reread) = self.reread.clone() else { return Ok(None) };
        // Sent with the first statement; where there was none, now.
        let begun = self.db.begin().await;
        match reread.take().credential {
            Some(found) => found,
            None => begun.and(Err(StoreError::Aborted("the credential was not read again"))),
        }
    }

    /// The same as [`Tx::record`] has found it, where others can have changed it since the transaction began. `None` too
    /// where the unit of work has itself changed the credential or its holder: it has judged what it did.
    pub fn credential_at_end(&mut self) -> StoreResult<Option<CredentialAtCommit>> {
        let (Dialect::Postgres, Some(reread)) = (self.db.dialect(), &self.reread) else { return Ok(None) };
        let RereadResult { credential, own } = reread.take();
        let Some(credential) = credential.transpose()?.flatten() else { return Ok(None) };
        Ok((!own.credential).then_some(CredentialAtCommit { credential, own_policies: own.policies }))
    }

    /// Reads the credential again where statements are not sent ahead.
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
    /// As others have left it.
    pub credential: Credential,
    /// Whether the unit of work has itself changed the tenant's policies.
    pub own_policies: bool,
}
