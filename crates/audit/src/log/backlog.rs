//! Measures how long entries wait to be sealed. A process that keeps the lease of a log without sealing it stops its
//! sealing without any failure.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use kernel::{TenantId, Timestamp};

use super::{observer::SealObserver, seal::UnsealedLog};
use crate::store::SealQueue;

/// Milliseconds after which an unsealed entry is reported. Normally it is sealed within a second.
pub const LONG_UNSEALED: i64 = 60_000;

/// The oldest unsealed entry of a tenant.
#[derive(Clone)]
struct Wait {
    entry: String,
    /// Start of the wait, as far as known.
    since: Timestamp,
    /// Whether the entry's timestamp was read.
    was_asked: bool,
    was_reported: bool,
}

/// Tenants with unsealed entries at the last measurement.
#[derive(Default)]
pub(super) struct SealBacklog(Mutex<HashMap<TenantId, Wait>>);

impl SealBacklog {
    /// Reports the age of the oldest unsealed entry, and entries that wait too long.
    pub(super) async fn measure(
        &self,
        queue: &dyn SealQueue,
        observer: &dyn SealObserver,
        now: Timestamp,
        waiting: &[UnsealedLog],
    ) {
        let before = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut waits = HashMap::new();
        for UnsealedLog { tenant, first, .. } in waiting {
            let mut wait = match before.get(tenant).filter(|wait| wait.entry == *first) {
                Some(wait) => written(queue, tenant, wait.clone()).await,
                None => Wait { entry: first.clone(), since: now, was_asked: false, was_reported: false },
            };
            let age = now.unix_millis() - wait.since.unix_millis();
            if age > LONG_UNSEALED && !wait.was_reported {
                wait.was_reported = true;
                observer.waits_long(tenant, &wait.entry, age);
            }
            waits.insert(tenant.clone(), wait);
        }
        let oldest = waits.values().map(|wait| now.unix_millis() - wait.since.unix_millis()).max();
        observer.oldest_unsealed(oldest.unwrap_or_default().max(0));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = waits;
    }
}

/// Reads the entry's timestamp once, when it is still unsealed at a second measurement: it may be older than this
/// process.
async fn written(queue: &dyn SealQueue, tenant: &TenantId, wait: Wait) -> Wait {
    if wait.was_asked {
        return wait;
    }
    let time = queue.entry_time(tenant, &wait.entry).await.ok().flatten();
    let since = time.map_or(wait.since, |time| wait.since.min(time));
    Wait { since, was_asked: true, ..wait }
}
