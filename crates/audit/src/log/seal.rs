//! Sealing: entries get their place in the log.

use async_trait::async_trait;
use kernel::{StoreError, TenantId, Timestamp};

use super::{
    checkpoint::{Checkpoint, CheckpointKeys},
    merkle::{Frontier, Hash, Place},
};

/// Entries that are sealed at once, at most: each such batch has a checkpoint.
pub const AT_ONCE: usize = 1024;

/// Milliseconds of a lease at most.
const LONGEST: i64 = 60_000;

/// An entry that has no place in the log yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsealed {
    /// `aud_…`
    pub id: String,
    /// Its hash as it was written.
    pub leaf: Hash,
}

/// An entry and its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// From 0, without gaps.
    pub sequence: u64,
    /// `aud_…`
    pub id: String,
    /// Its hash.
    pub leaf: Hash,
}

/// What has been sealed at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// In order.
    pub entries: Vec<Sealed>,
    /// Subtrees that are complete by them.
    pub nodes: Vec<(Place, Hash)>,
    /// The log with them.
    pub log: Frontier,
    /// The signed checkpoint.
    pub note: String,
    /// When.
    pub at: Timestamp,
}

/// Who seals a tenant's log, and until when nobody else does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The process.
    pub owner: String,
    /// Now.
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

/// Where one tenant's log is kept.
#[async_trait]
pub trait SealStore: Send {
    /// The log as it is, which nobody else goes on with before the unit of work ends; `None` while somebody else has the
    /// lease.
    async fn claim(&mut self, lease: &Lease) -> Result<Option<Frontier>, StoreError>;
    /// The note of its newest checkpoint; `None` before there is one.
    async fn newest_note(&mut self) -> Result<Option<String>, StoreError>;
    /// Entries that are committed and have no place yet, in order of their ids, after one, so many at most.
    async fn unsealed(&mut self, after: Option<&str>, limit: usize) -> Result<Vec<Unsealed>, StoreError>;
    /// Keeps what has been sealed, and the lease.
    async fn keep(&mut self, batch: &Batch, lease: &Lease) -> Result<(), StoreError>;
}

/// What was sealed at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// How many entries.
    pub count: usize,
    /// The id of the last of them.
    pub last: Option<String>,
}

/// Seals what waits, [`AT_ONCE`] at most. One unit of work.
///
/// Entries are in order of their ids within a batch. One that is committed late is sealed late, and none is forgotten: a
/// round begins without `after`, and goes on after the last one, so that what was sealed a moment ago is not gone past again.
pub async fn seal(
    store: &mut (impl SealStore + ?Sized),
    keys: &CheckpointKeys,
    tenant: &TenantId,
    lease: &Lease,
    after: Option<&str>,
) -> Result<Done, StoreError> {
    let Some(mut log) = store.claim(lease).await? else { return Ok(Done::default()) };
    let waiting = store.unsealed(after, AT_ONCE).await?;
    if waiting.is_empty() {
        return Ok(Done::default());
    }
    if log.size() > 0 && !is_signed(store.newest_note().await?, keys, tenant, &log) {
        return Err(StoreError::Aborted(
            "the log is not what was signed last: gatehouse audit verify says more",
        ));
    }
    let (mut entries, mut nodes) = (Vec::with_capacity(waiting.len()), Vec::new());
    for Unsealed { id, leaf } in waiting {
        entries.push(Sealed { sequence: log.size(), id, leaf });
        log.push(leaf, |place, hash| nodes.push((place, hash)));
    }
    let checkpoint = Checkpoint::new(tenant.as_str(), log.size(), log.root());
    let note = keys.sign(&checkpoint).ok_or(StoreError::Aborted("there is no key to sign with"))?;
    let batch = Batch { entries, nodes, log, note, at: lease.now };
    store.keep(&batch, lease).await?;
    let last = batch.entries.last().map(|sealed| sealed.id.clone());
    Ok(Done { count: batch.entries.len(), last })
}

/// Whether a log is what was signed last. Another one is not gone on with: to sign it would make it look right.
fn is_signed(note: Option<String>, keys: &CheckpointKeys, tenant: &TenantId, log: &Frontier) -> bool {
    let signed = note.and_then(|note| Checkpoint::verified(&note, &keys.of(tenant.as_str())).ok());
    signed.is_some_and(|signed| signed.size == log.size() && signed.root == log.root())
}
