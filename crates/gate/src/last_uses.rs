//! Collects when and from where credentials were last used, and stores it periodically outside of requests.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{PoisonError, RwLock},
};

use audit::{Audited, Unaudited};
use kernel::{Actor, Ctx, Env, StoreError, StoreResult, TenantId, Timestamp};
use std::sync::Arc;
use store::{CredentialType, LastUse, Store, Tx};

use super::caller::Caller;

const MINUTE: i64 = 60_000;

/// Uses since the last flush, by the credential's id.
#[derive(Default)]
pub(crate) struct LastUses(RwLock<HashMap<String, PendingUse>>);

struct PendingUse {
    tenant: TenantId,
    last: LastUse,
    written: bool,
}

impl LastUses {
    /// Records a use, at most once per minute and address.
    pub(crate) fn note(&self, tenant: &TenantId, caller: &Caller, now: Timestamp, ip: Option<IpAddr>) {
        let (of, id) = match caller {
            Caller::Scim(token) => (CredentialType::ScimToken, token.id.as_str()),
            Caller::Session(signed) => (CredentialType::Session, signed.session.id.as_str()),
            Caller::Pat(by) => (CredentialType::Pat, by.pat.id.as_str()),
            Caller::Receiver(receiver) => (CredentialType::Receiver, receiver.id.as_str()),
        };
        let minute = now.unix_millis().div_euclid(MINUTE);
        let same = |noted: &PendingUse| {
            noted.last.at.unix_millis().div_euclid(MINUTE) == minute && noted.last.ip == ip
        };
        if self.0.read().unwrap_or_else(PoisonError::into_inner).get(id).is_some_and(same) {
            return;
        }
        let last = LastUse { of, id: id.to_owned(), at: now, ip };
        let noted = PendingUse { tenant: tenant.clone(), last, written: false };
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), noted);
    }

    /// Stores the recorded uses, one unit of work per tenant. Stored uses are remembered until their minute ends.
    pub(crate) async fn flush(&self, store: &Store, env: &Arc<dyn Env>) -> StoreResult<()> {
        let mut failed = None;
        let mut due: HashMap<TenantId, Vec<LastUse>> = HashMap::new();
        {
            let now = env.now().unix_millis();
            let mut noted = self.0.write().unwrap_or_else(PoisonError::into_inner);
            noted.retain(|_, use_| !use_.written || now - use_.last.at.unix_millis() < MINUTE);
            for use_ in noted.values_mut().filter(|use_| !use_.written) {
                use_.written = true;
                due.entry(use_.tenant.clone()).or_default().push(use_.last.clone());
            }
        }
        for (tenant, mut uses) in due {
            // A fixed order prevents deadlocks between concurrent flushes.
            uses.sort_unstable_by(|a, b| a.id.cmp(&b.id));
            let again: Vec<String> = uses.iter().map(|use_| use_.id.clone()).collect();
            let ctx = Ctx::new(Arc::clone(env), tenant, Actor::system("last use"));
            let work = async move |_: &Ctx, tx: &mut Tx| {
                tx.note_uses(&uses).await?;
                Ok::<_, StoreError>(Audited::without((), Unaudited::LastUse))
            };
            if let Err(error) = store.write(ctx, work).await {
                let mut noted = self.0.write().unwrap_or_else(PoisonError::into_inner);
                for id in again {
                    if let Some(use_) = noted.get_mut(&id) {
                        use_.written = false;
                    }
                }
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}
