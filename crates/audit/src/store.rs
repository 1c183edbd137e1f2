//! The storage traits of the audit log.

use async_trait::async_trait;
use kernel::{StoreResult, TenantId, Timestamp};

use crate::{
    Entry, Filter, ListedEntry, Position, Span, StoredEntry,
    log::{
        Batch, CheckpointKey, Frontier, Hash, Lease, LockedLog, Removal, Retention, SealProgress, SealedRow,
        Unsealed, UnsealedLog,
    },
};

/// Stores a tenant's entries.
#[async_trait]
pub trait AuditStore: Send {
    /// Appends entries of the tenant, in order, each with its MAC.
    async fn append(&mut self, entries: &[Entry]) -> StoreResult<()>;
    /// Returns the newest entries, at most `limit`. For tests.
    async fn latest(&mut self, limit: u32) -> StoreResult<Vec<StoredEntry>>;
}

/// Searches a tenant's entries.
#[async_trait]
pub trait AuditQueryStore: Send {
    /// Returns matching entries within `span`, newest first, at most `limit`.
    async fn entries(
        &mut self,
        filter: &Filter,
        span: Span<'_>,
        limit: usize,
    ) -> StoreResult<Vec<ListedEntry>>;
    /// Returns the position of the entry that comes `count` entries after `after`, by actor, resource, action or
    /// time. `None` if there are fewer.
    async fn further(
        &mut self,
        filter: &Filter,
        after: Option<&Position>,
        count: usize,
    ) -> StoreResult<Option<Position>>;
    /// Counts the entries from `from` to before `to`, of one action or of all, up to `most`.
    async fn count(
        &mut self,
        action: Option<&str>,
        from: Timestamp,
        to: Timestamp,
        most: usize,
    ) -> StoreResult<usize>;
    /// Returns whether there is time for another scan. If not, a page ends early.
    fn has_time(&self) -> bool {
        true
    }
    /// Returns the number of sealed entries.
    async fn sealed_size(&mut self) -> StoreResult<u64>;
    /// Returns matching entries with positions from `from` to before `to`, in the order of the log, at most `limit`.
    async fn sealed_entries(
        &mut self,
        filter: &Filter,
        from: u64,
        to: u64,
        limit: usize,
    ) -> StoreResult<Vec<(u64, ListedEntry)>>;
}

/// Stores a tenant's transparency log.
#[async_trait]
pub trait SealStore: Send {
    /// Locks the log for sealing until the end of the unit of work, and returns it. `None` while another process has
    /// the lease.
    async fn claim(&mut self, lease: &Lease) -> StoreResult<Option<LockedLog>>;
    /// Returns the note of the newest checkpoint, if there is one.
    async fn newest_note(&mut self) -> StoreResult<Option<String>>;
    /// Returns committed, unsealed entries with ids after `after`, ordered by id, at most `limit`.
    async fn unsealed(&mut self, after: Option<&str>, limit: usize) -> StoreResult<Vec<Unsealed>>;
    /// Stores a sealed batch and the lease.
    async fn store_batch(&mut self, batch: &Batch, lease: &Lease) -> StoreResult<()>;
}

/// The transparency logs of all tenants, for a [`Sealer`](crate::log::Sealer).
#[async_trait]
pub trait SealQueue: Send + Sync {
    /// Returns the next tenant by id that has unsealed entries.
    async fn next_unsealed(&self, after: Option<&TenantId>) -> StoreResult<Option<UnsealedLog>>;
    /// Calls [`seal`](crate::log::seal) for a tenant in a unit of work of its own.
    async fn seal(&self, tenant: &TenantId, lease: Lease, after: Option<String>)
    -> StoreResult<SealProgress>;
    /// Returns when an entry was written.
    async fn entry_time(&self, tenant: &TenantId, entry: &str) -> StoreResult<Option<Timestamp>>;
}

/// Neighboring stored subtrees of one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubtreeRun {
    /// The level: each subtree has `256^level` leaves.
    pub level: u8,
    /// Index of the first subtree.
    pub from: u64,
    /// Index after the last one.
    pub to: u64,
}

/// Stores the hashes of a tenant's log.
#[async_trait]
pub trait TreeStore: Send {
    /// Returns the hashes of the subtrees of one level from `from` to before `to`, in order. Missing ones are left
    /// out.
    async fn hashes(&mut self, level: u8, from: u64, to: u64) -> StoreResult<Vec<(u64, Hash)>>;

    /// Returns the hashes of each run. A database may read them together.
    async fn hashes_of(&mut self, runs: &[SubtreeRun]) -> StoreResult<Vec<Vec<(u64, Hash)>>> {
        let mut found = Vec::with_capacity(runs.len());
        for SubtreeRun { level, from, to } in runs {
            found.push(self.hashes(*level, *from, *to).await?);
        }
        Ok(found)
    }
}

/// Reads what proofs against a tenant's log need.
#[async_trait]
pub trait ProofStore: TreeStore {
    /// Returns the newest checkpoint as stored and its time. Its signature is not verified.
    async fn newest_checkpoint(&mut self) -> StoreResult<Option<(String, Timestamp)>>;
    /// Returns an entry.
    async fn entry(&mut self, id: &str) -> StoreResult<Option<StoredEntry>>;
    /// Returns the position and leaf hash of an entry, if it is sealed.
    async fn position_of(&mut self, id: &str) -> StoreResult<Option<(u64, Hash)>>;
}

/// Everything that the verification of a tenant's audit log reads, from one snapshot.
///
/// Unreadable data is [`StoreError::Corrupt`]. It becomes a finding, and the verification continues.
#[async_trait]
pub trait VerifyStore: TreeStore {
    /// Returns the log's own size and frontier.
    async fn log(&mut self) -> StoreResult<Frontier>;
    /// Returns the signed note of where MACs start.
    async fn mac_start(&mut self) -> StoreResult<Option<String>>;
    /// Returns the rows with positions from `from` to before `to`, in order.
    async fn sealed(&mut self, from: u64, to: u64) -> StoreResult<Vec<SealedRow>>;
    /// Returns size and note of the checkpoints larger than `after`, in order, at most `limit`.
    async fn checkpoints(&mut self, after: u64, limit: usize) -> StoreResult<Vec<(u64, String)>>;
    /// Returns the positions before which entries were declared removed, in order.
    async fn removals(&mut self) -> StoreResult<Vec<u64>>;
    /// Returns signed statements of a kind with their numbers, in order.
    async fn statements(&mut self, kind: &str) -> StoreResult<Vec<(u64, String)>>;
    /// Returns the ids of unsealed entries after `after`, in order, at most `limit`.
    async fn waiting(&mut self, after: &str, limit: usize) -> StoreResult<Vec<String>>;
    /// Returns those of these entries that exist.
    async fn entries_of(&mut self, ids: &[String]) -> StoreResult<Vec<StoredEntry>>;
    /// Returns the ids of rows at positions outside a log of this size, at most `limit`, including positions that are
    /// no numbers.
    async fn outside(&mut self, size: u64, limit: usize) -> StoreResult<Vec<String>>;
    /// Returns the first position from `from` to before `to` that has an entry or the hash of its group.
    async fn next_place(&mut self, from: u64, to: u64) -> StoreResult<Option<u64>>;
    /// Returns the ids of entries that are neither sealed nor queued for sealing, at most `limit`.
    async fn unaccounted(&mut self, limit: usize) -> StoreResult<Vec<String>>;
}

/// Changes to existing entries, the only ones there are: removing those whose retention has ended, and erasing
/// addresses.
#[async_trait]
pub trait RetentionStore: VerifyStore {
    /// Returns the tenant's retention in days; `None` keeps entries forever.
    async fn retention_days(&mut self) -> StoreResult<Option<u32>>;
    /// Sets the retention and stores the signed statement of it.
    async fn set_retention(&mut self, retention: &Retention, note: &str) -> StoreResult<()>;
    /// Stores a note that repeats the text of another one with the signature of a newer key. From then on, the
    /// other one is returned with both signatures.
    async fn add_countersignature(&mut self, note: &str, at: Timestamp) -> StoreResult<()>;
    /// Returns the newest entry with this action code.
    async fn newest_of_action(&mut self, action: &str) -> StoreResult<Option<StoredEntry>>;
    /// Stores a signed declaration that entries are removed, which permits their removal. It covers whole groups of
    /// 256.
    async fn declare_removal(&mut self, removal: &Removal, note: &str) -> StoreResult<()>;
    /// Removes some of the declared entries and returns how many. The hashes of their groups stay. Removes only
    /// entries covered by a removal that one of `keys` has signed.
    async fn remove_declared(&mut self, keys: &[CheckpointKey]) -> StoreResult<u64>;
    /// Erases the addresses from some of an actor's entries and returns how many. The commitment stays but its salt
    /// is erased, so a guessed address cannot be confirmed.
    async fn erase_addresses(&mut self, actor: &str) -> StoreResult<u64>;
}
