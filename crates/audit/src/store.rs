//! What the rules need of storage.

use async_trait::async_trait;
use kernel::{StoreError, Timestamp};

use crate::{
    Entry, Filter, ListedEntry, Position, StoredEntry,
    log::{Batch, Frontier, Hash, Lease, LockedLog, SealedRow, Unsealed},
};

/// Where one tenant's entries are kept.
#[async_trait]
pub trait AuditStore: Send {
    /// Adds entries of the tenant, in order, each with its MAC.
    async fn append(&mut self, entries: &[Entry]) -> Result<(), StoreError>;
    /// The newest entries first, at most `limit` of them, as tests look at them.
    async fn latest(&mut self, limit: u32) -> Result<Vec<StoredEntry>, StoreError>;
}

/// Where one tenant's entries are looked for.
#[async_trait]
pub trait AuditQueryStore: Send {
    /// Entries that match, newest first: those after a position, up to and with another, so many at most.
    async fn entries(
        &mut self,
        filter: &Filter,
        after: Option<&Position>,
        until: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<ListedEntry>, StoreError>;
    /// Where the entry stands that comes so many after a position, of those of an actor, a resource or an action, at a
    /// time; `None` where there are fewer.
    async fn further(
        &mut self,
        filter: &Filter,
        after: Option<&Position>,
        count: usize,
    ) -> Result<Option<Position>, StoreError>;
    /// How many entries there are from a time on, before another; so many at most are counted.
    async fn count(&mut self, from: Timestamp, to: Timestamp, most: usize) -> Result<usize, StoreError>;
    /// Whether there is time for another look at texts; without it, a page says how far it has come.
    fn has_time(&self) -> bool {
        true
    }
    /// How many entries are sealed.
    async fn sealed_size(&mut self) -> Result<u64, StoreError>;
    /// Entries that match and were sealed from a place on, before another, in the order of the log, so many at most.
    async fn sealed_entries(
        &mut self,
        filter: &Filter,
        from: u64,
        to: u64,
        limit: usize,
    ) -> Result<Vec<(u64, ListedEntry)>, StoreError>;
}

/// Where one tenant's log is kept.
#[async_trait]
pub trait SealStore: Send {
    /// The log as it is, which nobody else goes on with before the unit of work ends; `None` while somebody else has the
    /// lease.
    async fn claim(&mut self, lease: &Lease) -> Result<Option<LockedLog>, StoreError>;
    /// The note of its newest checkpoint; `None` before there is one.
    async fn newest_note(&mut self) -> Result<Option<String>, StoreError>;
    /// Entries that are committed and have no place yet, in order of their ids, after one, so many at most.
    async fn unsealed(&mut self, after: Option<&str>, limit: usize) -> Result<Vec<Unsealed>, StoreError>;
    /// Keeps what has been sealed, and the lease.
    async fn store_batch(&mut self, batch: &Batch, lease: &Lease) -> Result<(), StoreError>;
}

/// Where the hashes of one tenant's log are kept.
#[async_trait]
pub trait TreeStore: Send {
    /// The hashes of these subtrees of one level, in order; fewer where some are not kept any more.
    async fn hashes(&mut self, level: u8, from: u64, to: u64) -> Result<Vec<(u64, Hash)>, StoreError>;
}

/// What one tenant's ledger and log consist of. All is read at one moment.
///
/// What is stored and cannot be read is [`StoreError::Corrupt`]: it becomes a finding, and the verification goes on.
#[async_trait]
pub trait VerifyStore: TreeStore {
    /// The log as it says it is.
    async fn log(&mut self) -> Result<Frontier, StoreError>;
    /// From where on entries have a MAC, as a signed note.
    async fn mac_start(&mut self) -> Result<Option<String>, StoreError>;
    /// Places from this one on, before another, in order.
    async fn sealed(&mut self, from: u64, to: u64) -> Result<Vec<SealedRow>, StoreError>;
    /// Size and note of the checkpoints after a size, in order, so many at most.
    async fn checkpoints(&mut self, after: u64, limit: usize) -> Result<Vec<(u64, String)>, StoreError>;
    /// Before which places entries were removed, as it says, in order.
    async fn removals(&mut self) -> Result<Vec<u64>, StoreError>;
    /// Signed statements of a kind with their numbers, in order.
    async fn statements(&mut self, kind: &str) -> Result<Vec<(u64, String)>, StoreError>;
    /// Ids of entries that wait for their place, after one, in order, so many at most.
    async fn waiting(&mut self, after: &str, limit: usize) -> Result<Vec<String>, StoreError>;
    /// Those of these entries that are there.
    async fn entries_of(&mut self, ids: &[String]) -> Result<Vec<StoredEntry>, StoreError>;
    /// Ids of what stands in places outside a log of this size, so many at most. Also in places that are no numbers.
    async fn outside(&mut self, size: u64, limit: usize) -> Result<Vec<String>, StoreError>;
    /// The first place from one on, before another, of which something is left: its entry, or the hash of its group.
    async fn next_place(&mut self, from: u64, to: u64) -> Result<Option<u64>, StoreError>;
    /// Ids of entries that neither have a place nor wait for one, so many at most.
    async fn unaccounted(&mut self, limit: usize) -> Result<Vec<String>, StoreError>;
}
