//! Measures how long entries wait to be sealed. A process that keeps the lease of a log without sealing it stops its
//! sealing without any failure.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use kernel::{StoreError, TenantId, Timestamp};
use store::{Store, Tx, UnsealedLog};

use crate::area_metrics;

/// Log a warning if an entry waits longer than this, in milliseconds. Normally it is sealed within a second.
const LONG: i64 = 60_000;

/// The oldest unsealed entry of a tenant.
#[derive(Clone)]
struct Wait {
    entry: String,
    /// Start of the wait, as far as known.
    since: Timestamp,
    /// Whether the entry's timestamp was read.
    was_asked: bool,
    was_logged: bool,
}

/// Tenants with unsealed entries at the last measurement.
#[derive(Default)]
pub(crate) struct SealBacklog(Mutex<HashMap<TenantId, Wait>>);

impl SealBacklog {
    /// Updates the metric of the oldest unsealed entry, and logs entries that wait too long.
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
                    "an audit entry has been unsealed for more than a minute; run gatehouse doctor"
                );
            }
            waits.insert(tenant.clone(), wait);
        }
        let oldest = waits.values().map(|wait| now.unix_millis() - wait.since.unix_millis()).max();
        area_metrics::oldest_unsealed(oldest.unwrap_or_default().max(0));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = waits;
    }
}

/// Reads the entry's timestamp once, when it is still unsealed at a second measurement: it may be older than this
/// process.
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
