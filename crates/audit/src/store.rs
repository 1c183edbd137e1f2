//! What the rules need of storage.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp};

use crate::{
    Entry, Filter, ListedEntry, Position, Span, StoredEntry,
    log::{Batch, Frontier, Hash, Lease, LockedLog, SealedRow, Unsealed},
};

/// Where one tenant's entries are kept.
#[async_trait]
pub trait AuditStore: Send {
    /// Adds entries of the tenant, in order, each with its MAC.
    async fn append(&mut self, entries: &[Entry]) -> StoreResult<()>;
    /// The newest entries first, at most `limit` of them, as tests look at them.
    async fn latest(&mut self, limit: u32) -> StoreResult<Vec<StoredEntry>>;
}

/// Where one tenant's entries are looked for.
#[async_trait]
pub trait AuditQueryStore: Send {
    /// Entries that match, newest first: those after a position, up to and with another, so many at most.
    async fn entries(
        &mut self,
        filter: &Filter,
        span: Span<'_>,
        limit: usize,
    ) -> StoreResult<Vec<ListedEntry>>;
    /// Where the entry stands that comes so many after a position, of those of an actor, a resource or an action, at a
    /// time; `None` where there are fewer.
    async fn further(
        &mut self,
        filter: &Filter,
        after: Option<&Position>,
        count: usize,
    ) -> StoreResult<Option<Position>>;
    /// How many entries there are from a time on, before another; so many at most are counted.
    async fn count(&mut self, from: Timestamp, to: Timestamp, most: usize) -> StoreResult<usize>;
    /// Whether there is time for another look at texts; without it, a page says how far it has come.
    fn has_time(&self) -> bool {
        true
    }
    /// How many entries are sealed.
    async fn sealed_size(&mut self) -> StoreResult<u64>;
    /// Entries that match and were sealed from a place on, before another, in the order of the log, so many at most.
    async fn sealed_entries(
        &mut self,
        filter: &Filter,
        from: u64,
        to: u64,
        limit: usize,
    ) -> StoreResult<Vec<(u64, ListedEntry)>>;
}

/// Where one tenant's log is kept.
#[async_trait]
pub trait SealStore: Send {
    /// The log as it is, which nobody else goes on with before the unit of work ends; `None` while somebody else has the
    /// lease.
    async fn claim(&mut self, lease: &Lease) -> StoreResult<Option<LockedLog>>;
    /// The note of its newest checkpoint; `None` before there is one.
    async fn newest_note(&mut self) -> StoreResult<Option<String>>;
    /// Entries that are committed and have no place yet, in order of their ids, after one, so many at most.
    async fn unsealed(&mut self, after: Option<&str>, limit: usize) -> StoreResult<Vec<Unsealed>>;
    /// Keeps what has been sealed, and the lease.
    async fn store_batch(&mut self, batch: &Batch, lease: &Lease) -> StoreResult<()>;
}

/// Where the hashes of one tenant's log are kept.
#[async_trait]
pub trait TreeStore: Send {
    /// The hashes of these subtrees of one level, in order; fewer where some are not kept any more.
    async fn hashes(&mut self, level: u8, from: u64, to: u64) -> StoreResult<Vec<(u64, Hash)>>;
}

/// What one tenant's ledger and log consist of. All is read at one moment.
///
/// What is stored and cannot be read is [`StoreError::Corrupt`]: it becomes a finding, and the verification goes on.
#[async_trait]
pub trait VerifyStore: TreeStore {
    /// The log as it says it is.
    async fn log(&mut self) -> StoreResult<Frontier>;
    /// From where on entries have a MAC, as a signed note.
    async fn mac_start(&mut self) -> StoreResult<Option<String>>;
    /// Places from this one on, before another, in order.
    async fn sealed(&mut self, from: u64, to: u64) -> StoreResult<Vec<SealedRow>>;
    /// Size and note of the checkpoints after a size, in order, so many at most.
    async fn checkpoints(&mut self, after: u64, limit: usize) -> StoreResult<Vec<(u64, String)>>;
    /// Before which places entries were removed, as it says, in order.
    async fn removals(&mut self) -> StoreResult<Vec<u64>>;
    /// Signed statements of a kind with their numbers, in order.
    async fn statements(&mut self, kind: &str) -> StoreResult<Vec<(u64, String)>>;
    /// Ids of entries that wait for their place, after one, in order, so many at most.
    async fn waiting(&mut self, after: &str, limit: usize) -> StoreResult<Vec<String>>;
    /// Those of these entries that are there.
    async fn entries_of(&mut self, ids: &[String]) -> StoreResult<Vec<StoredEntry>>;
    /// Ids of what stands in places outside a log of this size, so many at most. Also in places that are no numbers.
    async fn outside(&mut self, size: u64, limit: usize) -> StoreResult<Vec<String>>;
    /// The first place from one on, before another, of which something is left: its entry, or the hash of its group.
    async fn next_place(&mut self, from: u64, to: u64) -> StoreResult<Option<u64>>;
    /// Ids of entries that neither have a place nor wait for one, so many at most.
    async fn unaccounted(&mut self, limit: usize) -> StoreResult<Vec<String>>;
}
