//! Verifies a tenant's audit log: entries against the Merkle tree, the tree against checkpoints, and entries and
//! statements against the keys.

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
    merkle::{Frontier, Hash, last_group},
    retention::RetentionSettings,
    statement::{MacStart, Statement},
};
use crate::{
    EntryKeys, EntryMac, EventData, MacProblem, StoredEntry,
    events::audit_log::{AuditEntriesDropped, AuditRetentionChanged},
};

/// Checkpoints and ids per statement.
const MOST: usize = 1000;

/// A position of the log with its entry.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedRow {
    /// Position in the log.
    pub sequence: u64,
    /// The entry's id.
    pub id: String,
    /// Its hash when it was sealed.
    pub leaf: Hash,
    /// The entry; `None` if it does not exist.
    pub entry: Option<StoredEntry>,
}

/// The keys to verify with.
#[derive(Debug, Clone, Copy)]
pub struct VerifyKeys<'k> {
    /// The keys that verify checkpoints and statements.
    pub checkpoints: &'k [CheckpointKey],
    /// The keys that verify the MACs of entries. Without them, MACs are not verified.
    pub entries: Option<&'k EntryKeys>,
    /// Ids of retired master keys. MACs of sealed entries that name one are not verified.
    pub retired: &'k [String],
}

/// An entry whose content differs from what was sealed at its position.
struct ChangedEntry {
    sequence: u64,
    id: String,
    /// The hash of its current content.
    now: Option<Hash>,
}

struct Verifier<'s, S: ?Sized> {
    store: &'s mut S,
    tenant: &'s str,
    keys: VerifyKeys<'s>,
    log: Frontier,
    /// Whether `log` is known. It is not after missing positions whose hash is missing too.
    is_known: bool,
    /// The next checkpoints in the database to compare with, largest first, and their notes.
    ahead: Vec<(Checkpoint, String)>,
    /// Externally kept checkpoints, smallest first.
    known: Vec<Checkpoint>,
    /// Sizes and roots from signed removals, smallest first.
    declared: Vec<(u64, String)>,
    /// The retention settings from signed statements.
    retention: RetentionSettings,
    /// The times of retention changes from sealed entries.
    retention_entries: Vec<Timestamp>,
    /// The size up to which checkpoints were read.
    read: u64,
    /// The position from which entries must have a MAC.
    mac_start: u64,
    /// The position before which entries were removed according to sealed entries of a version without signed
    /// removals.
    announced: u64,
    others: Vec<ChangedEntry>,
    erasures: Erasures,
    /// Positions of unreadable entries, which already have a finding.
    unreadable: HashSet<u64>,
    seen: HashMap<Hash, u64>,
    result: Verified,
}

/// Compares a tenant's entries with its log, and the log with its checkpoints and with the externally kept ones in
/// `known`, whose signatures the caller must have verified.
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
        // A table is missing or has another form. The findings so far are returned.
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
            // No entry announces their removal, so they were deleted.
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
            self.result.found_once(Finding::Altered { from: last_group(size), to: size });
        }
        self.result.size = size;
        self.result.root = data_encoding::HEXLOWER.encode(&self.log.root());
        self.waiting().await?;
        for finding in std::mem::take(&mut self.erasures).findings() {
            self.result.found(finding);
        }
        Ok(())
    }

    /// Adds a finding if the data is unreadable.
    fn readable<T>(&mut self, read: StoreResult<T>, table: &'static str, at: &str) -> StoreResult<Option<T>> {
        match read {
            Err(StoreError::Corrupt(_)) => {
                self.result.found(Finding::Unreadable { table, at: at.to_string() });
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// Reads the position from which entries must have a MAC. Without a signed one, all sealed entries may lack a
    /// MAC, and are protected by the checkpoints.
    async fn read_mac_start(&mut self) -> StoreResult<()> {
        let note = self.store.mac_start().await;
        let Some(note) = self.readable(note, "audit_logs", "mac_start")?.flatten() else { return Ok(()) };
        match MacStart::verified(&note, self.tenant, self.keys.checkpoints) {
            Ok(start) => self.mac_start = start.from,
            Err(_) => self.result.found(Finding::NotSigned { statement: "the start of MACs".to_owned() }),
        }
        Ok(())
    }

    /// Returns the size of the newest signed checkpoint of at least this size. Unsigned checkpoints do not determine
    /// the log's size.
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

    /// Verifies an entry against its sealed hash.
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

    /// Verifies the MAC of a sealed entry.
    fn check_mac(&mut self, sequence: u64, id: String, leaf: Hash, entry: &StoredEntry) {
        let Some(keys) = self.keys.entries else { return self.erasures.check_entry(entry) };
        let mac = entry.mac.as_ref();
        let is_retired = |mac: &EntryMac| self.keys.retired.contains(&mac.key);
        match (keys.verify(self.tenant, &id, &leaf, mac), mac) {
            (Ok(()), _) => self.result.macs += 1,
            (Err(MacProblem::Missing), _) if sequence < self.mac_start => {}
            (Err(MacProblem::UnknownKey), Some(mac)) if is_retired(mac) => {}
            (Err(MacProblem::UnknownKey), Some(mac)) => {
                return self.result.found_unknown_key(sequence, id, &mac.key);
            }
            (Err(problem), _) => {
                return self.result.found(Finding::Unauthenticated { sequence: Some(sequence), id, problem });
            }
        }
        self.erasures.check_entry(entry);
    }

    /// Distinguishes moved entries from changed ones.
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

/// Returns the position before which an entry announces a removal, or 0.
fn dropped_before(entry: &StoredEntry) -> u64 {
    if entry.action != AuditEntriesDropped::CODE {
        return 0;
    }
    let data: Option<serde_json::Value> = serde_json::from_str(&entry.metadata).ok();
    data.and_then(|data| data.get("beforeSequence")?.as_u64()).unwrap_or_default()
}
