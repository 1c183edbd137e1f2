//! An in-memory audit log, for tests and for services that run as a single process.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Bound,
};

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp};

use crate::{
    Entry, EntryKeys, Filter, ListedEntry, Position, Span, StoredEntry,
    log::{
        Batch, COUNTERSIGNATURE, Checkpoint, CheckpointKey, Frontier, Hash, Lease, LockedLog, NodePosition,
        Removal, Retention, Sealed, SealedRow, Statement, Unsealed, add_countersignatures, newest_removal,
    },
    store::{AuditQueryStore, AuditStore, ProofStore, RetentionStore, SealStore, TreeStore, VerifyStore},
};

/// Keeps all entries in memory. The caller serializes changes, for example with a mutex.
#[derive(Debug, Default)]
pub struct MemoryAuditLog {
    keys: EntryKeys,
    /// Entries by id, which is in order of time.
    entries: BTreeMap<String, StoredEntry>,
    waiting: BTreeSet<String>,
    /// The sealed rows that no purge has removed, in order.
    sealed: Vec<Sealed>,
    places: HashMap<String, u64>,
    nodes: BTreeMap<NodePosition, Hash>,
    checkpoints: Vec<(u64, String, Timestamp)>,
    log: Frontier,
    mac_start: Option<String>,
    retention_days: Option<u32>,
    /// Signed statements with their kinds and numbers.
    statements: Vec<(&'static str, u64, String)>,
    removals: Vec<u64>,
}

impl MemoryAuditLog {
    /// Creates an empty audit log whose entries get their MACs with these keys.
    pub fn new(keys: EntryKeys) -> Self {
        Self { keys, ..Self::default() }
    }

    fn found<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a Position>,
    ) -> impl Iterator<Item = &'a StoredEntry> + use<'a> {
        let mut all: Vec<_> = self.entries.values().collect();
        all.sort_by(|one, other| (other.timestamp, &other.id).cmp(&(one.timestamp, &one.id)));
        let is_after = move |entry: &&StoredEntry| {
            after.is_none_or(|after| (entry.timestamp, &entry.id) < (after.timestamp, &after.id))
        };
        all.into_iter().filter(is_after).filter(|entry| filter.matches(entry))
    }

    fn places(&self, from: u64, to: u64) -> &[Sealed] {
        let index = |at: u64| self.sealed.partition_point(|sealed| sealed.sequence < at);
        self.sealed.get(index(from)..index(to)).unwrap_or_default()
    }

    /// Returns the newest signed checkpoint.
    pub fn checkpoint(&self) -> Option<&str> {
        self.checkpoints.last().map(|(_, note, _)| note.as_str())
    }

    /// Returns a note with the signatures of its countersignatures.
    fn countersigned(&self, note: &str) -> String {
        let of_kind = self.statements.iter().filter(|(kind, ..)| *kind == COUNTERSIGNATURE);
        let countersignatures: Vec<_> = of_kind.map(|(_, _, note)| note.clone()).collect();
        let mut note = note.to_owned();
        add_countersignatures(&mut note, &countersignatures);
        note
    }

    /// Returns the position of an entry in the log, if it is sealed.
    pub fn sequence(&self, id: &str) -> Option<u64> {
        self.places.get(id).copied()
    }

    /// Returns the entries for direct modification, bypassing all checks, to test the detection of tampering.
    pub fn tamper(&mut self) -> &mut BTreeMap<String, StoredEntry> {
        &mut self.entries
    }

    /// Returns the signed statements with their kinds and numbers for direct modification, to test the detection of
    /// tampering.
    pub fn tamper_statements(&mut self) -> &mut Vec<(&'static str, u64, String)> {
        &mut self.statements
    }
}

fn listed(entry: &StoredEntry) -> ListedEntry {
    ListedEntry { entry: entry.clone(), actor_name: None }
}

#[async_trait]
impl AuditStore for MemoryAuditLog {
    async fn append(&mut self, entries: &[Entry]) -> StoreResult<()> {
        let entries: Vec<_> =
            entries.iter().map(|entry| entry.stored(&self.keys)).collect::<Result<_, _>>()?;
        for entry in entries {
            self.waiting.insert(entry.id.clone());
            self.entries.insert(entry.id.clone(), entry);
        }
        Ok(())
    }

    async fn latest(&mut self, limit: u32) -> StoreResult<Vec<StoredEntry>> {
        Ok(self.entries.values().rev().take(limit as usize).cloned().collect())
    }
}

#[async_trait]
impl AuditQueryStore for MemoryAuditLog {
    async fn entries(
        &mut self,
        filter: &Filter,
        span: Span<'_>,
        limit: usize,
    ) -> StoreResult<Vec<ListedEntry>> {
        let is_until = |entry: &&StoredEntry| {
            span.until.is_none_or(|until| (entry.timestamp, &entry.id) >= (until.timestamp, &until.id))
        };
        Ok(self.found(filter, span.after).take_while(is_until).take(limit).map(listed).collect())
    }

    async fn further(
        &mut self,
        filter: &Filter,
        after: Option<&Position>,
        count: usize,
    ) -> StoreResult<Option<Position>> {
        let place = count.checked_sub(1);
        Ok(place.and_then(|place| self.found(filter, after).nth(place)).map(|entry| listed(entry).position()))
    }

    async fn count(
        &mut self,
        action: Option<&str>,
        from: Timestamp,
        to: Timestamp,
        most: usize,
    ) -> StoreResult<usize> {
        let counts = |entry: &&StoredEntry| {
            (from..to).contains(&entry.timestamp) && action.is_none_or(|action| entry.action == action)
        };
        Ok(self.entries.values().filter(counts).take(most).count())
    }

    async fn sealed_size(&mut self) -> StoreResult<u64> {
        Ok(self.log.size())
    }

    async fn sealed_entries(
        &mut self,
        filter: &Filter,
        from: u64,
        to: u64,
        limit: usize,
    ) -> StoreResult<Vec<(u64, ListedEntry)>> {
        let found = self
            .places(from, to)
            .iter()
            .filter_map(|sealed| Some((sealed.sequence, self.entries.get(&sealed.id)?)))
            .filter(|(_, entry)| filter.matches(entry));
        Ok(found.take(limit).map(|(sequence, entry)| (sequence, listed(entry))).collect())
    }
}

#[async_trait]
impl SealStore for MemoryAuditLog {
    async fn claim(&mut self, _: &Lease) -> StoreResult<Option<LockedLog>> {
        let mac_start = self.mac_start.as_deref().map(|note| self.countersigned(note));
        Ok(Some(LockedLog { log: self.log.clone(), mac_start }))
    }

    async fn newest_note(&mut self) -> StoreResult<Option<String>> {
        Ok(self.checkpoint().map(|note| self.countersigned(note)))
    }

    async fn unsealed(&mut self, after: Option<&str>, limit: usize) -> StoreResult<Vec<Unsealed>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let waiting = self.waiting.range::<str, _>((from, Bound::Unbounded)).take(limit);
        let unsealed = |id: &String| {
            let entry = self.entries.get(id);
            let (leaf, mac) = (entry.map(|entry| entry.leaf), entry.and_then(|entry| entry.mac.clone()));
            Unsealed { id: id.clone(), leaf, mac }
        };
        Ok(waiting.map(unsealed).collect())
    }

    async fn store_batch(&mut self, batch: &Batch, _: &Lease) -> StoreResult<()> {
        for sealed in &batch.entries {
            self.waiting.remove(&sealed.id);
            self.places.insert(sealed.id.clone(), sealed.sequence);
            self.sealed.push(sealed.clone());
        }
        self.nodes.extend(batch.nodes.iter().copied());
        self.checkpoints.push((batch.log.size(), batch.note.clone(), batch.at));
        self.log = batch.log.clone();
        self.mac_start = batch.mac_start.clone();
        Ok(())
    }
}

#[async_trait]
impl TreeStore for MemoryAuditLog {
    async fn hashes(&mut self, level: u8, from: u64, to: u64) -> StoreResult<Vec<(u64, Hash)>> {
        if level == 0 {
            return Ok(self.places(from, to).iter().map(|sealed| (sealed.sequence, sealed.leaf)).collect());
        }
        let range = NodePosition { level, index: from }..NodePosition { level, index: to };
        Ok(self.nodes.range(range).map(|(place, hash)| (place.index, *hash)).collect())
    }
}

#[async_trait]
impl ProofStore for MemoryAuditLog {
    async fn newest_checkpoint(&mut self) -> StoreResult<Option<(String, Timestamp)>> {
        Ok(self.checkpoints.last().map(|(_, note, at)| (self.countersigned(note), *at)))
    }

    async fn entry(&mut self, id: &str) -> StoreResult<Option<StoredEntry>> {
        Ok(self.entries.get(id).cloned())
    }

    async fn position_of(&mut self, id: &str) -> StoreResult<Option<(u64, Hash)>> {
        let sealed = self.sealed.iter().find(|sealed| sealed.id == id);
        Ok(sealed.map(|sealed| (sealed.sequence, sealed.leaf)))
    }
}

#[async_trait]
impl VerifyStore for MemoryAuditLog {
    async fn log(&mut self) -> StoreResult<Frontier> {
        Ok(self.log.clone())
    }

    async fn sealed(&mut self, from: u64, to: u64) -> StoreResult<Vec<SealedRow>> {
        let row = |sealed: &Sealed| SealedRow {
            sequence: sealed.sequence,
            id: sealed.id.clone(),
            leaf: sealed.leaf,
            entry: self.entries.get(&sealed.id).cloned(),
        };
        Ok(self.places(from, to).iter().map(row).collect())
    }

    async fn checkpoints(&mut self, after: u64, limit: usize) -> StoreResult<Vec<(u64, String)>> {
        let later = self.checkpoints.iter().filter(|(size, ..)| *size > after).take(limit);
        Ok(later.map(|(size, note, _)| (*size, self.countersigned(note))).collect())
    }

    async fn mac_start(&mut self) -> StoreResult<Option<String>> {
        Ok(self.mac_start.as_deref().map(|note| self.countersigned(note)))
    }

    async fn removals(&mut self) -> StoreResult<Vec<u64>> {
        Ok(self.removals.clone())
    }

    async fn statements(&mut self, kind: &str) -> StoreResult<Vec<(u64, String)>> {
        let of_kind = self.statements.iter().filter(|(of, _, _)| *of == kind);
        Ok(of_kind.map(|(_, number, note)| (*number, self.countersigned(note))).collect())
    }

    async fn waiting(&mut self, after: &str, limit: usize) -> StoreResult<Vec<String>> {
        let after = (Bound::Excluded(after), Bound::Unbounded);
        Ok(self.waiting.range::<str, _>(after).take(limit).cloned().collect())
    }

    async fn entries_of(&mut self, ids: &[String]) -> StoreResult<Vec<StoredEntry>> {
        Ok(ids.iter().filter_map(|id| self.entries.get(id).cloned()).collect())
    }

    async fn outside(&mut self, size: u64, limit: usize) -> StoreResult<Vec<String>> {
        let outside = self.sealed.iter().filter(|sealed| sealed.sequence >= size);
        Ok(outside.take(limit).map(|sealed| sealed.id.clone()).collect())
    }

    async fn next_place(&mut self, from: u64, to: u64) -> StoreResult<Option<u64>> {
        Ok(self.places(from, to).first().map(|sealed| sealed.sequence))
    }

    async fn unaccounted(&mut self, limit: usize) -> StoreResult<Vec<String>> {
        let is_known = |id: &&String| self.places.contains_key(*id) || self.waiting.contains(*id);
        Ok(self.entries.keys().filter(|id| !is_known(id)).take(limit).cloned().collect())
    }
}

#[async_trait]
impl RetentionStore for MemoryAuditLog {
    async fn retention_days(&mut self) -> StoreResult<Option<u32>> {
        Ok(self.retention_days)
    }

    async fn set_retention(&mut self, retention: &Retention, note: &str) -> StoreResult<()> {
        self.retention_days = retention.days;
        let number = self.statements(Retention::KIND).await?.len() as u64;
        self.statements.push((Retention::KIND, number, note.to_owned()));
        Ok(())
    }

    async fn add_countersignature(&mut self, note: &str, _: Timestamp) -> StoreResult<()> {
        let number = self.statements.iter().filter(|(kind, ..)| *kind == COUNTERSIGNATURE).count();
        self.statements.push((COUNTERSIGNATURE, number as u64, note.to_owned()));
        Ok(())
    }

    async fn newest_of_action(&mut self, action: &str) -> StoreResult<Option<StoredEntry>> {
        Ok(self.entries.values().rev().find(|entry| entry.action == action).cloned())
    }

    async fn declare_removal(&mut self, removal: &Removal, note: &str) -> StoreResult<()> {
        self.removals.push(removal.before);
        self.statements.push((Removal::KIND, removal.before, note.to_owned()));
        Ok(())
    }

    async fn remove_declared(&mut self, keys: &[CheckpointKey]) -> StoreResult<u64> {
        let Some(origin) = self.checkpoint().and_then(|note| Checkpoint::read(note).ok()) else {
            return Ok(0);
        };
        let Some(removal) = newest_removal(self, origin.tenant().unwrap_or_default(), keys).await? else {
            return Ok(0);
        };
        let removed = self.places(0, removal.before).len();
        for sealed in self.sealed.drain(..removed) {
            self.places.remove(&sealed.id);
            self.entries.remove(&sealed.id);
        }
        Ok(removed as u64)
    }

    async fn erase_addresses(&mut self, actor: &str) -> StoreResult<u64> {
        let mut erased = 0;
        for entry in self.entries.values_mut().filter(|entry| entry.actor_id == actor && entry.ip.is_some()) {
            entry.ip_commitment = entry.commitment();
            (entry.ip, entry.salt) = (None, None);
            erased += 1;
        }
        Ok(erased)
    }
}
