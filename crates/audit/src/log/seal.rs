//! Sealing, which gives entries their positions in the log.

use std::sync::Arc;

use crate::store::SealStore;
use kernel::{MasterKeys, StoreError, StoreResult, TenantId, Timestamp};

use super::{
    checkpoint::{Checkpoint, CheckpointKeys},
    merkle::{Frontier, Hash, NodePosition},
    statement::{MacStart, Statement},
};
use crate::{EntryKeys, EntryMac, MacProblem};

/// Maximum number of entries per batch. Each batch has a checkpoint.
pub const AT_ONCE: usize = 1024;

/// Maximum length of a lease, in milliseconds.
const LONGEST: i64 = 60_000;

/// An unsealed entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsealed {
    /// `aud_…`
    pub id: String,
    /// Its stored leaf hash; `None` if the entry or a valid hash is missing.
    pub leaf: Option<Hash>,
    /// The MAC stored with the entry.
    pub mac: Option<EntryMac>,
}

/// A tenant with unsealed entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsealedLog {
    /// The tenant.
    pub tenant: TenantId,
    /// The first unsealed entry by id.
    pub first: String,
    /// The current lease: its owner and its end.
    pub lease: Option<(String, Timestamp)>,
}

/// A sealed entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The position in the log, from 0 without gaps.
    pub sequence: u64,
    /// `aud_…`
    pub id: String,
    /// Leaf hash of the entry.
    pub leaf: Hash,
}

/// A sealed batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The entries in the order of the log.
    pub entries: Vec<Sealed>,
    /// The subtrees that they complete.
    pub nodes: Vec<(NodePosition, Hash)>,
    /// The log including the batch.
    pub log: Frontier,
    /// The signed checkpoint.
    pub note: String,
    /// The position from which entries have a MAC, as a signed [`MacStart`]; `None` while entries without one are
    /// accepted.
    pub mac_start: Option<String>,
    /// When the batch was sealed.
    pub at: Timestamp,
}

/// The lease for sealing a tenant's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Id of the process that holds the lease.
    pub owner: String,
    /// The current time, used to check other leases.
    pub now: Timestamp,
    /// End of the lease, unless it is renewed.
    pub until: Timestamp,
}

impl Lease {
    /// Returns whether this lease may replace another. One that ends too far in the future was set by a wrong clock.
    pub fn may_take(&self, owner: &str, until: Timestamp) -> bool {
        owner == self.owner || until <= self.now || until > self.now.plus_millis(LONGEST)
    }
}

/// A log that is locked for sealing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockedLog {
    /// The current log.
    pub log: Frontier,
    /// The position from which entries have a MAC, as a signed [`MacStart`]; `None` if not yet known.
    pub mac_start: Option<String>,
}

/// The keys and rules for sealing.
#[derive(Debug, Clone, Copy)]
pub struct SealPolicy<'k> {
    /// The keys that sign checkpoints.
    pub checkpoints: &'k CheckpointKeys,
    /// The keys that verify the MACs of entries.
    pub entries: &'k EntryKeys,
    /// Whether to seal entries without a MAC, which older versions wrote. Entries with an invalid MAC are never
    /// sealed.
    pub accepts_missing_macs: bool,
}

/// The keys and rules for sealing, kept by a unit of work.
#[derive(Debug, Clone)]
pub struct SealRules {
    /// See [`SealPolicy::checkpoints`].
    pub checkpoints: Arc<CheckpointKeys>,
    /// See [`SealPolicy::entries`].
    pub entries: EntryKeys,
    /// See [`SealPolicy::accepts_missing_macs`].
    pub accepts_missing_macs: bool,
}

impl SealRules {
    /// Derives the keys from the master keys. Seals no entries without a MAC.
    pub fn derive(masters: &MasterKeys) -> Self {
        Self {
            checkpoints: Arc::new(CheckpointKeys::derive(masters)),
            entries: EntryKeys::derive(masters),
            accepts_missing_macs: false,
        }
    }

    /// Returns the rules as [`seal`] needs them.
    pub fn policy(&self) -> SealPolicy<'_> {
        let Self { checkpoints, entries, accepts_missing_macs } = self;
        SealPolicy { checkpoints, entries, accepts_missing_macs: *accepts_missing_macs }
    }
}

/// The result of one call of [`seal`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SealProgress {
    /// Number of sealed entries.
    pub count: usize,
    /// Number of unsealed entries read. [`AT_ONCE`] means that there may be more.
    pub seen: usize,
    /// Entries not sealed because their MAC is not valid. They stay in the queue.
    pub refused: Vec<(String, MacProblem)>,
    /// The id of the last entry read.
    pub last: Option<String>,
}

/// Seals at most [`AT_ONCE`] entries in one unit of work.
///
/// A batch is ordered by entry id. An entry that commits late is sealed late, and none is missed: a round starts
/// without `after` and continues after the last id, so that it does not read the same entries again. An entry without
/// a valid MAC is skipped, and those after it are sealed.
pub async fn seal(
    store: &mut (impl SealStore + ?Sized),
    policy: SealPolicy<'_>,
    tenant: &TenantId,
    lease: &Lease,
    after: Option<&str>,
) -> StoreResult<SealProgress> {
    let keys = policy.checkpoints;
    let Some(LockedLog { mut log, mac_start }) = store.claim(lease).await? else {
        return Ok(SealProgress::default());
    };
    let waiting = store.unsealed(after, AT_ONCE).await?;
    let last = waiting.last().map(|unsealed| unsealed.id.clone());
    let mut done = SealProgress { seen: waiting.len(), last, ..SealProgress::default() };
    let (mut entries, mut nodes, mut without_mac) = (Vec::with_capacity(waiting.len()), Vec::new(), false);
    let before = log.clone();
    for unsealed in waiting {
        match admissible(&unsealed, policy, tenant) {
            Err(problem) => done.refused.push((unsealed.id, problem)),
            Ok(leaf) => {
                without_mac |= unsealed.mac.is_none();
                entries.push(Sealed { sequence: log.size(), id: unsealed.id, leaf });
                log.push(leaf, |place, hash| nodes.push((place, hash)));
            }
        }
    }
    if entries.is_empty() {
        return Ok(done);
    }
    if before.size() > 0 && !is_signed(store.newest_note().await?, keys, tenant, &before) {
        return Err(StoreError::Aborted(
            "the log differs from what was signed last; run gatehouse audit verify for details",
        ));
    }
    let no_key = StoreError::Aborted("there is no key to sign checkpoints; set master_key");
    let mac_start = match policy.accepts_missing_macs {
        true if without_mac => None,
        true => mac_start,
        false => Some(start_of_macs(mac_start, keys, tenant, before.size()).ok_or(no_key)?),
    };
    let checkpoint = Checkpoint::new(tenant.as_str(), log.size(), log.root());
    let note = keys
        .sign(&checkpoint)
        .ok_or(StoreError::Aborted("there is no key to sign checkpoints; set master_key"))?;
    let batch = Batch { entries, nodes, log, note, mac_start, at: lease.now };
    store.store_batch(&batch, lease).await?;
    done.count = batch.entries.len();
    Ok(done)
}

/// Returns the hash to seal an entry with, or why it cannot be sealed.
fn admissible(unsealed: &Unsealed, policy: SealPolicy<'_>, tenant: &TenantId) -> Result<Hash, MacProblem> {
    let leaf = unsealed.leaf.ok_or(MacProblem::Wrong)?;
    match policy.entries.verify(tenant.as_str(), &unsealed.id, &leaf, unsealed.mac.as_ref()) {
        Err(MacProblem::Missing) if policy.accepts_missing_macs => Ok(leaf),
        verified => verified.map(|()| leaf),
    }
}

/// Returns the statement of where MACs start, signed with the newest key. Without one signed by a known key, MACs
/// start at `size`; earlier entries are protected by the checkpoints.
fn start_of_macs(
    note: Option<String>,
    keys: &CheckpointKeys,
    tenant: &TenantId,
    size: u64,
) -> Option<String> {
    let tenant = tenant.as_str();
    let stated = note.and_then(|note| MacStart::verified(&note, tenant, &keys.of(tenant)).ok());
    stated.unwrap_or(MacStart { from: size }).sign(tenant, keys)
}

/// Returns whether a log matches its last signed checkpoint. Otherwise sealing stops, because signing would
/// legitimize it.
fn is_signed(note: Option<String>, keys: &CheckpointKeys, tenant: &TenantId, log: &Frontier) -> bool {
    let signed = note.and_then(|note| Checkpoint::verified(&note, &keys.of(tenant.as_str())).ok());
    signed.is_some_and(|signed| signed.size == log.size() && signed.root == log.root())
}
