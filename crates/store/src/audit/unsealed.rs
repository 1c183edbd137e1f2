//! Finds audit entries that should have been sealed.

use ::audit::{
    EntryKeys,
    log::{AT_ONCE, SealStore},
};
use kernel::{StoreError, StoreResult, TenantId, Timestamp};

use crate::{Across, Store, Tx};

/// Audit entries that are not sealed.
#[derive(Debug, Default)]
pub struct UnsealedEntries {
    /// Entries without a valid MAC, which are never sealed.
    pub unauthenticated: usize,
    /// Time of the oldest entry among the first unsealed ones of each log.
    pub oldest: Option<Timestamp>,
}

impl Store {
    /// Examines the first unsealed entries of the logs of at most `tenants` tenants.
    pub async fn examine_unsealed(&self, keys: &EntryKeys, tenants: usize) -> StoreResult<UnsealedEntries> {
        let (mut all, mut after): (UnsealedEntries, Option<TenantId>) = Default::default();
        for _ in 0..tenants {
            let last = after.take();
            let next = async move |across: &mut Across| across.next_unsealed(last.as_ref()).await;
            let Some(waiting) = self.across(next).await? else { break };
            let tenant = waiting.tenant;
            let look = async |tx: &mut Tx| tx.unsealed(None, AT_ONCE).await;
            for entry in self.read::<_, StoreError>(tenant.clone(), look).await? {
                let is_valid = entry.leaf.is_some_and(|leaf| {
                    keys.verify(tenant.as_str(), &entry.id, &leaf, entry.mac.as_ref()).is_ok()
                });
                all.unauthenticated += usize::from(!is_valid);
            }
            let look = async move |tx: &mut Tx| tx.entry(&waiting.first).await;
            // `gatehouse audit verify` reports entries that cannot be read.
            let first = self.read::<_, StoreError>(tenant.clone(), look).await.ok().flatten();
            all.oldest = [all.oldest, first.map(|first| first.timestamp)].into_iter().flatten().min();
            after = Some(tenant);
        }
        Ok(all)
    }
}
