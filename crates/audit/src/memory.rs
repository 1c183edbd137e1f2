//! A ledger that is gone with the process: for tests, and for services of one process.

use async_trait::async_trait;
use kernel::StoreError;

use crate::{AuditQueryStore, AuditStore, Entry, Filter, Listed, Position, StoredEntry};

/// Keeps everything in memory. What holds it (a mutex) is what keeps changes apart.
#[derive(Debug, Default)]
pub struct MemoryLedger(Vec<StoredEntry>);

impl MemoryLedger {
    fn found<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a Position>,
    ) -> impl Iterator<Item = &'a StoredEntry> + use<'a> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by(|one, other| (other.timestamp, &other.id).cmp(&(one.timestamp, &one.id)));
        let is_after = move |entry: &&StoredEntry| {
            after.is_none_or(|after| (entry.timestamp, &entry.id) < (after.timestamp, &after.id))
        };
        all.into_iter().filter(is_after).filter(|entry| filter.matches(entry))
    }
}

fn listed(entry: &StoredEntry) -> Listed {
    Listed { entry: entry.clone(), actor_name: None }
}

#[async_trait]
impl AuditStore for MemoryLedger {
    async fn append(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        self.0.extend(entries.iter().map(StoredEntry::from));
        Ok(())
    }

    async fn latest(&mut self, limit: u32) -> Result<Vec<StoredEntry>, StoreError> {
        Ok(self.0.iter().rev().take(limit as usize).cloned().collect())
    }
}

#[async_trait]
impl AuditQueryStore for MemoryLedger {
    async fn entries(
        &mut self,
        filter: &Filter,
        after: Option<&Position>,
        until: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        let is_until = |entry: &&StoredEntry| {
            until.is_none_or(|until| (entry.timestamp, &entry.id) >= (until.timestamp, &until.id))
        };
        Ok(self.found(filter, after).take_while(is_until).take(limit).map(listed).collect())
    }

    async fn further(
        &mut self,
        filter: &Filter,
        after: Option<&Position>,
        count: usize,
    ) -> Result<Option<Position>, StoreError> {
        let place = count.checked_sub(1);
        Ok(place.and_then(|place| self.found(filter, after).nth(place)).map(|entry| listed(entry).position()))
    }
}
