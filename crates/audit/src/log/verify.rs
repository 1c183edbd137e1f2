//! Looking whether a ledger is what was sealed.

use std::collections::HashMap;

use async_trait::async_trait;
use kernel::StoreError;

use super::{
    checkpoint::{Checkpoint, CheckpointKey},
    finding::{Finding, Verified},
    merkle::{Frontier, GROUP, Hash, Place},
    proof::TreeStore,
};
use crate::{EventData, StoredEntry, events::audit_log::AuditEntriesDropped};

/// Groups that are read at once.
const GROUPS_AT_ONCE: u64 = 16;
/// Checkpoints, hashes and ids that are read at once.
const MOST: usize = 1000;

/// A place of the log with the entry that stands there.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedRow {
    /// The place.
    pub sequence: u64,
    /// The entry's id.
    pub id: String,
    /// Its hash when it was sealed.
    pub leaf: Hash,
    /// The entry; `None` if it is not there.
    pub entry: Option<StoredEntry>,
}

/// What one tenant's ledger and log consist of. All is read at one moment.
#[async_trait]
pub trait VerifyStore: TreeStore {
    /// The log as it says it is.
    async fn log(&mut self) -> Result<Frontier, StoreError>;
    /// Places from this one on, before another, in order.
    async fn sealed(&mut self, from: u64, to: u64) -> Result<Vec<SealedRow>, StoreError>;
    /// Size and note of the checkpoints after a size, in order, so many at most.
    async fn checkpoints(&mut self, after: u64, limit: usize) -> Result<Vec<(u64, String)>, StoreError>;
    /// Before which place entries were dropped, as their time to be kept was over.
    async fn dropped(&mut self) -> Result<u64, StoreError>;
    /// How many entries wait for their place.
    async fn waiting(&mut self) -> Result<u64, StoreError>;
    /// Entries that wait for their place and say that others were dropped.
    async fn announced(&mut self) -> Result<Vec<StoredEntry>, StoreError>;
    /// Ids of entries that neither have a place nor wait for one, so many at most.
    async fn unaccounted(&mut self, limit: usize) -> Result<Vec<String>, StoreError>;
}

/// An entry whose content is not what was sealed at its place.
struct Other {
    sequence: u64,
    id: String,
    /// Its hash, as it is now.
    now: Option<Hash>,
}

struct Verifier<'s, S: ?Sized> {
    store: &'s mut S,
    tenant: &'s str,
    keys: &'s [CheckpointKey],
    log: Frontier,
    /// Whether `log` is known: not after places that are missing and have no hash either.
    is_known: bool,
    /// Checkpoints of the database that it is compared with next, the largest first, and their notes.
    ahead: Vec<(Checkpoint, String)>,
    /// Those from elsewhere, the smallest first.
    known: Vec<Checkpoint>,
    /// Up to which size checkpoints were read.
    read: u64,
    /// Before which place entries were dropped, as entries say.
    announced: u64,
    others: Vec<Other>,
    seen: HashMap<Hash, u64>,
    result: Verified,
}

/// Compares a tenant's ledger with its log, and the log with its checkpoints and with those that are known from elsewhere
/// (whose signatures the caller has looked at).
pub async fn verify<S: VerifyStore + ?Sized>(
    store: &mut S,
    tenant: &str,
    keys: &[CheckpointKey],
    mut known: Vec<Checkpoint>,
) -> Result<Verified, StoreError> {
    known.sort_by_key(|checkpoint| checkpoint.size);
    let mut verifier = Verifier {
        store,
        tenant,
        keys,
        log: Frontier::default(),
        is_known: true,
        ahead: Vec::new(),
        known,
        read: 0,
        announced: 0,
        others: Vec::new(),
        seen: HashMap::new(),
        result: Verified::default(),
    };
    verifier.run().await?;
    Ok(verifier.result)
}

impl<S: VerifyStore + ?Sized> Verifier<'_, S> {
    async fn run(&mut self) -> Result<(), StoreError> {
        let said = self.store.log().await?;
        let newest = self.newest_checkpoint(said.size()).await?;
        let size = newest.as_ref().map_or(said.size(), |(checkpoint, _)| checkpoint.size.max(said.size()));
        self.result.dropped = self.store.dropped().await?;
        while self.log.size() < size {
            self.groups(size).await?;
        }
        for row in self.store.sealed(size, u64::MAX).await? {
            self.result.found(Finding::Inserted { id: row.id });
        }
        self.tell_moved();
        for entry in self.store.announced().await? {
            self.announced = self.announced.max(says_dropped(&entry));
        }
        if self.result.dropped > self.announced {
            // Nobody has said so: they were taken away.
            self.result.found(Finding::Missing { from: self.announced, to: self.result.dropped });
        }
        for id in self.store.unaccounted(MOST).await? {
            self.result.found(Finding::Inserted { id });
        }
        for checkpoint in std::mem::take(&mut self.known) {
            self.result.found(Finding::RolledBack { size: checkpoint.size });
        }
        self.newest_is_signed(newest.as_ref(), size);
        if self.is_known && said != self.log {
            self.result.found(Finding::Altered { from: size.saturating_sub(size % GROUP), to: size });
        }
        self.result.size = size;
        self.result.root = data_encoding::HEXLOWER.encode(&self.log.root());
        self.result.waiting = self.store.waiting().await?;
        Ok(())
    }

    /// What speaks for all the others is signed.
    fn newest_is_signed(&mut self, newest: Option<&(Checkpoint, String)>, size: u64) {
        let is_signed = match newest {
            None => size == 0,
            Some((checkpoint, note)) => {
                checkpoint.size == size
                    && checkpoint.tenant() == Some(self.tenant)
                    && Checkpoint::verified(note, self.keys).is_ok()
            }
        };
        if !is_signed {
            self.result.found(Finding::Unsigned { size });
        }
    }

    /// The last checkpoint there is.
    async fn newest_checkpoint(&mut self, size: u64) -> Result<Option<(Checkpoint, String)>, StoreError> {
        let (mut after, mut newest) = (size.saturating_sub(1), None);
        loop {
            let some = self.store.checkpoints(after, MOST).await?;
            let Some((last, note)) = some.into_iter().next_back() else { return Ok(newest) };
            after = last;
            match Checkpoint::read(&note) {
                Ok(checkpoint) if checkpoint.size == last => newest = Some((checkpoint, note)),
                _ => self.result.found(Finding::Unsigned { size: last }),
            }
        }
    }

    /// Goes on behind places of which nothing is known.
    fn skip_to(&mut self, size: u64) {
        self.is_known = false;
        let unknown = vec![0; 32 * size.count_ones() as usize];
        self.log = Frontier::restore(size, &unknown).unwrap_or_default();
    }

    /// Looks at some groups. Of one that was dropped the hash is kept; one of which something is left is looked at like any
    /// other, as it was not removed yet.
    async fn groups(&mut self, size: u64) -> Result<(), StoreError> {
        let from = self.log.size();
        let to = size.min(from - from % GROUP + GROUPS_AT_ONCE * GROUP);
        let hashes: HashMap<u64, Hash> =
            self.store.hashes(1, from / GROUP, to / GROUP).await?.into_iter().collect();
        let mut rows = self.store.sealed(from, to).await?.into_iter().peekable();
        while self.log.size() < to {
            let first = self.log.size();
            let end = to.min(first - first % GROUP + GROUP);
            let mut group = Vec::new();
            while let Some(row) = rows.next_if(|row| row.sequence < end) {
                group.push(row);
            }
            let hash = hashes.get(&(first / GROUP)).filter(|_| end.is_multiple_of(GROUP)).copied();
            match hash.filter(|_| group.is_empty() && end <= self.result.dropped) {
                Some(hash) => self.push_group(hash).await?,
                None => self.group(first, end, group, hash).await?,
            }
        }
        Ok(())
    }

    /// Looks at the entries of a group, and whether it has this hash.
    async fn group(
        &mut self,
        first: u64,
        end: u64,
        rows: Vec<SealedRow>,
        hash: Option<Hash>,
    ) -> Result<(), StoreError> {
        let before = self.log.clone();
        let (mut expected, mut is_whole, mut complete) = (first, true, None);
        for row in rows {
            if row.sequence != expected {
                is_whole = false;
                self.result.found(Finding::Missing { from: expected, to: row.sequence });
            }
            expected = row.sequence + 1;
            let leaf = row.leaf;
            self.look_at(row);
            if is_whole {
                let mut altered = Vec::new();
                self.log.push(leaf, |place, hash| match place.level {
                    1 => complete = Some(hash),
                    _ => altered.push((place, hash)),
                });
                for (place, hash) in altered {
                    self.subtree(place, hash).await?;
                }
                self.compare().await?;
            }
        }
        if expected != end {
            is_whole = false;
            self.result.found(Finding::Missing { from: expected, to: end });
        }
        let is_complete = end.is_multiple_of(GROUP);
        if is_whole && (!is_complete || complete == hash) {
            return Ok(());
        }
        if is_whole {
            self.result.found(Finding::Altered { from: first, to: end });
        }
        self.log = before;
        if let Some(hash) = hash {
            return self.push_group(hash).await;
        }
        self.skip_to(end);
        Ok(())
    }

    /// A group by the hash that was kept of it.
    async fn push_group(&mut self, hash: Hash) -> Result<(), StoreError> {
        let mut completed = Vec::new();
        self.log.push_subtree(1, hash, |place, hash| completed.push((place, hash)));
        for (place, hash) in completed {
            self.subtree(place, hash).await?;
        }
        self.compare().await
    }

    /// Whether a larger subtree has the hash that was kept of it.
    async fn subtree(&mut self, place: Place, hash: Hash) -> Result<(), StoreError> {
        if place.level < 2 || !self.is_known {
            return Ok(());
        }
        let kept = self.store.hashes(place.level, place.index, place.index + 1).await?;
        if kept.first() != Some(&(place.index, hash)) {
            let leaves = 1_u64 << (8 * u32::from(place.level));
            self.result
                .found(Finding::Altered { from: place.index * leaves, to: (place.index + 1) * leaves });
        }
        Ok(())
    }

    /// Whether the entry is what was sealed at its place.
    fn look_at(&mut self, row: SealedRow) {
        let Some(entry) = row.entry else {
            self.result.found(Finding::Deleted { sequence: row.sequence, id: row.id });
            return;
        };
        self.result.entries += 1;
        self.result.erased += u64::from(entry.ip_commitment.is_some());
        let now = entry.content_leaf(self.tenant);
        if now == Some(row.leaf) {
            self.announced = self.announced.max(says_dropped(&entry));
        }
        if now != Some(row.leaf) || entry.leaf != row.leaf {
            self.seen.insert(row.leaf, row.sequence);
            self.others.push(Other { sequence: row.sequence, id: row.id, now });
        }
    }

    /// Tells entries that stand elsewhere from those that were changed.
    fn tell_moved(&mut self) {
        for Other { sequence, id, now } in std::mem::take(&mut self.others) {
            let sealed_at =
                now.and_then(|now| self.seen.get(&now)).copied().filter(|place| *place != sequence);
            self.result.found(match sealed_at {
                Some(sealed_at) => Finding::Moved { sequence, id, sealed_at },
                None => Finding::Changed { sequence, id },
            });
        }
    }

    /// Compares the log with the checkpoints of its size.
    async fn compare(&mut self) -> Result<(), StoreError> {
        let size = self.log.size();
        if self.ahead.is_empty() && self.read < size {
            let some = self.store.checkpoints(size - 1, MOST).await?;
            self.read = some.last().map_or(u64::MAX, |(last, _)| *last);
            for (size, note) in some.into_iter().rev() {
                match Checkpoint::read(&note) {
                    Ok(checkpoint) if checkpoint.size == size => self.ahead.push((checkpoint, note)),
                    _ => self.result.found(Finding::Unsigned { size }),
                }
            }
        }
        while let Some((checkpoint, note)) = self.ahead.pop_if(|(checkpoint, _)| checkpoint.size <= size) {
            if checkpoint.size != size || !self.is_known {
                continue;
            }
            self.result.checkpoints += 1;
            if checkpoint.root == self.log.root() {
                continue;
            }
            let is_signed = Checkpoint::verified(&note, self.keys).is_ok();
            self.result.found(if is_signed {
                Finding::Altered { from: size - (size - 1) % GROUP - 1, to: size }
            } else {
                Finding::Unsigned { size }
            });
        }
        while self.known.first().is_some_and(|known| known.size <= size) {
            let known = self.known.remove(0);
            if known.size == size && self.is_known {
                self.result.checkpoints += 1;
                if known.root != self.log.root() {
                    self.result.found(Finding::Forked { size });
                }
            } else {
                self.result.found(Finding::NotCompared { size: known.size });
            }
        }
        Ok(())
    }
}

/// Before which place an entry says that others were dropped; 0 if it says no such thing.
fn says_dropped(entry: &StoredEntry) -> u64 {
    if entry.action != AuditEntriesDropped::CODE {
        return 0;
    }
    let data: Option<serde_json::Value> = serde_json::from_str(&entry.metadata).ok();
    data.and_then(|data| data.get("beforeSequence")?.as_u64()).unwrap_or_default()
}
