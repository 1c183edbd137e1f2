//! Verifies that a ledger is what was sealed: entries against the tree, the tree against checkpoints, entries and declarations
//! against the keys.

use crate::store::VerifyStore;
mod erasures;
mod removals;
mod tree;
mod waiting;

use std::collections::{HashMap, HashSet};

use kernel::{StoreError, StoreResult, Timestamp};

use self::erasures::Erasures;
use super::{
    checkpoint::{Checkpoint, CheckpointKey},
    finding::{Finding, Verified},
    merkle::{Frontier, GROUP, Hash},
    retention::RetentionSettings,
    statement::{MacStart, Statement},
};
use crate::{
    EntryKeys, EventData, MacProblem, StoredEntry,
    events::audit_log::{AuditEntriesDropped, AuditRetentionChanged},
};

/// Checkpoints, hashes and ids that are read at once.
const MOST: usize = 1000;

/// A place of the log with the entry that stands there.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedRow {
    /// Position in the log.
    pub sequence: u64,
    /// The entry's id.
    pub id: String,
    /// Its hash when it was sealed.
    pub leaf: Hash,
    /// The entry; `None` if it is not there.
    pub entry: Option<StoredEntry>,
}

/// The keys to verify with.
#[derive(Debug, Clone, Copy)]
pub struct VerifyKeys<'k> {
    /// Verify checkpoints and statements.
    pub checkpoints: &'k [CheckpointKey],
    /// Verify the MACs of entries; without, these are not verified.
    pub entries: Option<&'k EntryKeys>,
    /// Ids of master keys that are not in the key ring any more: MACs of sealed entries that name one are not verified.
    pub retired: &'k [String],
}

/// An entry whose content is not what was sealed at its place.
struct ChangedEntry {
    sequence: u64,
    id: String,
    /// Its hash, as it is now.
    now: Option<Hash>,
}

struct Verifier<'s, S: ?Sized> {
    store: &'s mut S,
    tenant: &'s str,
    keys: VerifyKeys<'s>,
    log: Frontier,
    /// Whether `log` is known: not after places that are missing and have no hash either.
    is_known: bool,
    /// Checkpoints of the database that it is compared with next, the largest first, and their notes.
    ahead: Vec<(Checkpoint, String)>,
    /// Those from elsewhere, the smallest first.
    known: Vec<Checkpoint>,
    /// Sizes and roots that signed removals declare, the smallest first.
    declared: Vec<(u64, String)>,
    /// How long entries are kept, as signed statements say.
    retention: RetentionSettings,
    /// When sealed entries say that it was set.
    retention_entries: Vec<Timestamp>,
    /// Up to which size checkpoints were read.
    read: u64,
    /// From where on entries must have a MAC.
    mac_start: u64,
    /// Before which place entries were removed, as sealed entries without a MAC say: of a version that signed no removals.
    announced: u64,
    others: Vec<ChangedEntry>,
    erasures: Erasures,
    /// Places whose entries cannot be read, which was found already.
    unreadable: HashSet<u64>,
    seen: HashMap<Hash, u64>,
    result: Verified,
}

/// Compares a tenant's ledger with its log, and the log with its checkpoints and with those that are known from elsewhere
/// (whose signatures the caller has looked at).
pub async fn verify<S: VerifyStore + ?Sized>(
    store: &mut S,
    tenant: &str,
    keys: VerifyKeys<'_>,
    mut known: Vec<Checkpoint>,
) -> StoreResult<Verified> {
    known.sort_by_key(|checkpoint| checkpoint.size);
    let mut verifier = Verifier {
        store,
        tenant,
        keys,
        log: Frontier::default(),
        is_known: true,
        ahead: Vec::new(),
        known,
        declared: Vec::new(),
        retention: RetentionSettings::default(),
        retention_entries: Vec::new(),
        read: 0,
        mac_start: u64::MAX,
        announced: 0,
        others: Vec::new(),
        erasures: Erasures::default(),
        unreadable: HashSet::new(),
        seen: HashMap::new(),
        result: Verified::default(),
    };
    match verifier.run().await {
        Ok(()) => {}
        // A table that is gone or has another form. What was found until here is told with it.
        Err(error @ (StoreError::Database(_) | StoreError::Corrupt(_))) => {
            verifier.result.found(Finding::Unreadable { table: "the database", at: error.to_string() });
        }
        Err(error) => return Err(error),
    }
    Ok(verifier.result)
}

impl<S: VerifyStore + ?Sized> Verifier<'_, S> {
    async fn run(&mut self) -> StoreResult<()> {
        let said = self.store.log().await;
        let said = self.readable(said, "audit_logs", "")?;
        let size = said.as_ref().map_or(0, Frontier::size);
        self.read_mac_start().await?;
        let signed = self.newest_signed(size).await?;
        let size = signed.map_or(size, |signed| signed.max(size));
        let unsigned = self.read_removals().await?;
        while self.log.size() < size {
            self.groups(size).await?;
        }
        let outside = self.store.outside(size, MOST).await;
        for id in self.readable(outside, "audit_sealed", "outside the log")?.unwrap_or_default() {
            self.result.found(Finding::Inserted { id });
        }
        self.report_moved();
        self.retention_is_stated();
        if unsigned > self.announced {
            // Nobody has said so: they were taken away.
            self.result.found(Finding::Missing { from: self.announced, to: unsigned });
        }
        let unaccounted = self.store.unaccounted(MOST).await;
        for id in self.readable(unaccounted, "audit_entries", "")?.unwrap_or_default() {
            self.result.found(Finding::Inserted { id });
        }
        for checkpoint in std::mem::take(&mut self.known) {
            self.result.found(Finding::RolledBack { size: checkpoint.size });
        }
        if signed.unwrap_or_default() != size {
            self.result.found_once(Finding::Unsigned { size });
        }
        if self.is_known && said.is_some_and(|said| said != self.log) {
            self.result.found(Finding::Altered { from: size.saturating_sub(size % GROUP), to: size });
        }
        self.result.size = size;
        self.result.root = data_encoding::HEXLOWER.encode(&self.log.root());
        self.waiting().await?;
        for finding in std::mem::take(&mut self.erasures).findings() {
            self.result.found(finding);
        }
        Ok(())
    }

    /// What was read; a finding where it is there and cannot be read.
    fn readable<T>(&mut self, read: StoreResult<T>, table: &'static str, at: &str) -> StoreResult<Option<T>> {
        match read {
            Err(StoreError::Corrupt(_)) => {
                self.result.found(Finding::Unreadable { table, at: at.to_string() });
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// From where on entries must have a MAC. Unless somebody has signed that, all sealed ones may be of a version that made
    /// none: they are protected by the checkpoints.
    async fn read_mac_start(&mut self) -> StoreResult<()> {
        let note = self.store.mac_start().await;
        let Some(note) = self.readable(note, "audit_logs", "mac_start")?.flatten() else { return Ok(()) };
        match MacStart::verified(&note, self.tenant, self.keys.checkpoints) {
            Ok(start) => self.mac_start = start.from,
            Err(_) => self.result.found(Finding::NotSigned { statement: "the start of MACs".to_owned() }),
        }
        Ok(())
    }

    /// The size of the newest checkpoint that is signed, from this size on. No other one says how long the log is.
    async fn newest_signed(&mut self, size: u64) -> StoreResult<Option<u64>> {
        let (mut after, mut newest, mut unsigned) = (size.saturating_sub(1), None, None);
        loop {
            let some = self.store.checkpoints(after, MOST).await;
            let some = self.readable(some, "audit_checkpoints", &format!("after {after}"))?;
            let some = some.unwrap_or_default();
            let Some((last, _)) = some.last() else { break };
            after = *last;
            for (size, note) in some {
                match Checkpoint::read(&note) {
                    Ok(checkpoint) if checkpoint.size == size => {
                        let is_signed = checkpoint.tenant() == Some(self.tenant)
                            && Checkpoint::verified(&note, self.keys.checkpoints).is_ok();
                        *(if is_signed { &mut newest } else { &mut unsigned }) = Some(size);
                    }
                    _ => self.result.found_once(Finding::Unsigned { size }),
                }
            }
        }
        if let Some(size) = unsigned.filter(|size| Some(*size) > newest) {
            self.result.found_once(Finding::Unsigned { size });
        }
        Ok(newest)
    }

    /// Whether the entry is what was sealed at its place.
    fn check_entry(&mut self, row: SealedRow) {
        if self.unreadable.contains(&row.sequence) {
            return;
        }
        let Some(entry) = row.entry else {
            self.result.found(Finding::Deleted { sequence: row.sequence, id: row.id });
            return;
        };
        self.result.entries += 1;
        self.result.erased += u64::from(entry.ip_commitment.is_some());
        let now = entry.content_leaf(self.tenant);
        match entry.mac {
            None if now == Some(row.leaf) => self.announced = self.announced.max(dropped_before(&entry)),
            Some(_) if entry.action == AuditRetentionChanged::CODE => {
                self.retention_entries.push(entry.timestamp);
            }
            _ => {}
        }
        if now != Some(row.leaf) || entry.leaf != row.leaf {
            self.seen.insert(row.leaf, row.sequence);
            self.others.push(ChangedEntry { sequence: row.sequence, id: row.id, now });
        } else {
            self.check_mac(row.sequence, row.id, row.leaf, &entry);
        }
    }

    /// Whether a sealed entry has the MAC that it was sealed with.
    fn check_mac(&mut self, sequence: u64, id: String, leaf: Hash, entry: &StoredEntry) {
        let Some(keys) = self.keys.entries else { return self.erasures.check_entry(entry) };
        let mac = entry.mac.as_ref();
        let is_retired = mac.is_some_and(|mac| self.keys.retired.contains(&mac.key));
        match keys.verify(self.tenant, &id, &leaf, mac) {
            Ok(()) => self.result.macs += 1,
            Err(MacProblem::Missing) if sequence < self.mac_start => {}
            Err(MacProblem::UnknownKey) if is_retired => {}
            Err(problem) => {
                return self.result.found(Finding::Unauthenticated { sequence: Some(sequence), id, problem });
            }
        }
        self.erasures.check_entry(entry);
    }

    /// Tells entries that stand elsewhere from those that were changed.
    fn report_moved(&mut self) {
        for ChangedEntry { sequence, id, now } in std::mem::take(&mut self.others) {
            let sealed_at =
                now.and_then(|now| self.seen.get(&now)).copied().filter(|place| *place != sequence);
            self.result.found(match sealed_at {
                Some(sealed_at) => Finding::Moved { sequence, id, sealed_at },
                None => Finding::Changed { sequence, id },
            });
        }
    }
}

/// Before which place an entry says that others were dropped; 0 if it says no such thing.
fn dropped_before(entry: &StoredEntry) -> u64 {
    if entry.action != AuditEntriesDropped::CODE {
        return 0;
    }
    let data: Option<serde_json::Value> = serde_json::from_str(&entry.metadata).ok();
    data.and_then(|data| data.get("beforeSequence")?.as_u64()).unwrap_or_default()
}
