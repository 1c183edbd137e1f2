//! How long entries have waited to be sealed: somebody who holds the lease of a log stops its sealing without a failure.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use kernel::{StoreError, TenantId, Timestamp};
use store::{Store, Tx, UnsealedLog};

use crate::area_metrics;

/// Entries are sealed a second after they are written; an entry that waits longer than this, in milliseconds, is logged.
const LONG: i64 = 60_000;

/// The entry of a tenant that waits first.
#[derive(Clone)]
struct Wait {
    entry: String,
    /// Since when, as far as is known.
    since: Timestamp,
    /// Whether the entry was asked when it was written.
    was_asked: bool,
    was_logged: bool,
}

/// The tenants whose entries waited at the end of the last look.
#[derive(Default)]
pub(crate) struct SealBacklog(Mutex<HashMap<TenantId, Wait>>);

impl SealBacklog {
    /// Looks at all that waits, and says how long the oldest does.
    pub(crate) async fn measure(&self, store: &Store, now: Timestamp, waiting: &[UnsealedLog]) {
        let before = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut waits = HashMap::new();
        for UnsealedLog { tenant, first, .. } in waiting {
            let mut wait = match before.get(tenant).filter(|wait| wait.entry == *first) {
                Some(wait) => written(store, tenant, wait.clone()).await,
                None => Wait { entry: first.clone(), since: now, was_asked: false, was_logged: false },
            };
            let age = now.unix_millis() - wait.since.unix_millis();
            if age > LONG && !wait.was_logged {
                wait.was_logged = true;
                tracing::warn!(
                    tenant = tenant.as_str(),
                    entry = wait.entry,
                    seconds = age / 1000,
                    "an audit entry waits to be sealed for longer than a minute: gatehouse doctor says more"
                );
            }
            waits.insert(tenant.clone(), wait);
        }
        let oldest = waits.values().map(|wait| now.unix_millis() - wait.since.unix_millis()).max();
        area_metrics::oldest_unsealed(oldest.unwrap_or_default().max(0));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = waits;
    }
}

/// One that waits for a second time: it is asked once when it was written, as it may have waited before this process began.
async fn written(store: &Store, tenant: &TenantId, wait: Wait) -> Wait {
    if wait.was_asked {
        return wait;
    }
    let id = wait.entry.clone();
    let look = async move |tx: &mut Tx| tx.entry(&id).await;
    let entry = store.read::<_, StoreError>(tenant.clone(), look).await.ok().flatten();
    let since = entry.map_or(wait.since, |entry| wait.since.min(entry.timestamp));
    Wait { since, was_asked: true, ..wait }
}
