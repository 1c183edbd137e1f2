//! Sealing: entries get their place in the log.

use crate::store::SealStore;
use kernel::{StoreError, StoreResult, TenantId, Timestamp};

use super::{
    checkpoint::{Checkpoint, CheckpointKeys},
    merkle::{Frontier, Hash, NodePosition},
    statement::{MacStart, Statement},
};
use crate::{EntryKeys, EntryMac, MacProblem};

/// Entries that are sealed at once, at most: each such batch has a checkpoint.
pub const AT_ONCE: usize = 1024;

/// Milliseconds of a lease at most.
const LONGEST: i64 = 60_000;

/// An entry that has no place in the log yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsealed {
    /// `aud_…`
    pub id: String,
    /// Its hash as it was written; `None` where the entry or its hash is gone or no hash.
    pub leaf: Option<Hash>,
    /// MAC that was written with the entry.
    pub mac: Option<EntryMac>,
}

/// An entry and its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// From 0, without gaps.
    pub sequence: u64,
    /// `aud_…`
    pub id: String,
    /// Leaf hash of the entry.
    pub leaf: Hash,
}

/// What has been sealed at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Entries in the order of the log.
    pub entries: Vec<Sealed>,
    /// Subtrees that are complete by them.
    pub nodes: Vec<(NodePosition, Hash)>,
    /// The log with them.
    pub log: Frontier,
    /// The signed checkpoint.
    pub note: String,
    /// From where on entries have a MAC, as a signed [`MacStart`]; `None` while entries without one are accepted.
    pub mac_start: Option<String>,
    /// When the batch was sealed.
    pub at: Timestamp,
}

/// Who seals a tenant's log, and until when nobody else does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Id of the process that holds the lease.
    pub owner: String,
    /// The current time, by which the lease is judged.
    pub now: Timestamp,
    /// Until then, unless it seals again.
    pub until: Timestamp,
}

impl Lease {
    /// Whether a log with this lease may be gone on with. One that ends far from now was given by a wrong clock.
    pub fn may_take(&self, owner: &str, until: Timestamp) -> bool {
        owner == self.owner || until <= self.now || until > self.now.plus_millis(LONGEST)
    }
}

/// A log that is locked for sealing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockedLog {
    /// The log as it is.
    pub log: Frontier,
    /// From where on its entries have a MAC, as a signed [`MacStart`]; `None` before that is known.
    pub mac_start: Option<String>,
}

/// What sealing needs beside the log.
#[derive(Debug, Clone, Copy)]
pub struct SealPolicy<'k> {
    /// Keys that sign checkpoints.
    pub checkpoints: &'k CheckpointKeys,
    /// Verifies the MACs of entries.
    pub entries: &'k EntryKeys,
    /// Whether entries without a MAC are sealed, as a version wrote them that made none. One with a wrong MAC never is.
    pub accepts_missing_macs: bool,
}

/// What one call of [`seal`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SealProgress {
    /// How many entries it sealed.
    pub count: usize,
    /// How many waiting entries it looked at: [`AT_ONCE`] means that there may be more.
    pub seen: usize,
    /// Entries that it refused to seal, because their MAC does not prove who wrote them. They go on waiting.
    pub refused: Vec<(String, MacProblem)>,
    /// The id of the last entry that it looked at.
    pub last: Option<String>,
}

/// Seals what waits, [`AT_ONCE`] at most. One unit of work.
///
/// Entries are in order of their ids within a batch. One that is committed late is sealed late, and none is forgotten: a
/// round begins without `after`, and goes on after the last one, so that what was sealed a moment ago is not gone past again.
/// An entry without a valid MAC is refused, and those behind it are sealed.
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
            "the log is not what was signed last: gatehouse audit verify says more",
        ));
    }
    let no_key = StoreError::Aborted("there is no key to sign with");
    let mac_start = match policy.accepts_missing_macs {
        true if without_mac => None,
        true => mac_start,
        false => Some(start_of_macs(mac_start, keys, tenant, before.size()).ok_or(no_key)?),
    };
    let checkpoint = Checkpoint::new(tenant.as_str(), log.size(), log.root());
    let note = keys.sign(&checkpoint).ok_or(StoreError::Aborted("there is no key to sign with"))?;
    let batch = Batch { entries, nodes, log, note, mac_start, at: lease.now };
    store.store_batch(&batch, lease).await?;
    done.count = batch.entries.len();
    Ok(done)
}

/// The hash to seal an entry with, or why it is not sealed.
fn admissible(unsealed: &Unsealed, policy: SealPolicy<'_>, tenant: &TenantId) -> Result<Hash, MacProblem> {
    let leaf = unsealed.leaf.ok_or(MacProblem::Wrong)?;
    match policy.entries.verify(tenant.as_str(), &unsealed.id, &leaf, unsealed.mac.as_ref()) {
        Err(MacProblem::Missing) if policy.accepts_missing_macs => Ok(leaf),
        verified => verified.map(|()| leaf),
    }
}

/// The statement from where on entries have a MAC, signed with the newest key. Where there is none that a key in the ring has
/// signed, it begins here: what was sealed before is protected by the checkpoints.
fn start_of_macs(
    note: Option<String>,
    keys: &CheckpointKeys,
    tenant: &TenantId,
    size: u64,
) -> Option<String> {
    let (tenant, all) = (tenant.as_str(), keys.of(tenant.as_str()));
    let stated = note.as_deref().and_then(|note| MacStart::verified(note, tenant, &all).ok());
    let is_newest = note
        .as_deref()
        .is_some_and(|note| MacStart::verified(note, tenant, all.get(..1).unwrap_or_default()).is_ok());
    if is_newest {
        return note;
    }
    stated.unwrap_or(MacStart { from: size }).sign(tenant, keys)
}

/// Whether a log is what was signed last. Another one is not gone on with: to sign it would make it look right.
fn is_signed(note: Option<String>, keys: &CheckpointKeys, tenant: &TenantId, log: &Frontier) -> bool {
    let signed = note.and_then(|note| Checkpoint::verified(&note, &keys.of(tenant.as_str())).ok());
    signed.is_some_and(|signed| signed.size == log.size() && signed.root == log.root())
}
