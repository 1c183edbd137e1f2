//! The storage traits of streams.

use async_trait::async_trait;
use kernel::{StoreResult, TenantId, Timestamp};

use crate::{FailureNote, LogPage, LogStream, LogStreamId, Problem, StreamState};

/// Stores a tenant's streams.
#[async_trait]
pub trait LogStreamStore: Send {
    /// Returns all streams, oldest first.
    async fn log_streams(&mut self) -> StoreResult<Vec<(LogStream, StreamState)>>;
    /// Returns a stream, locked until the end of a unit of work that writes.
    async fn log_stream(&mut self, id: &LogStreamId) -> StoreResult<Option<(LogStream, StreamState)>>;
    /// Counts the streams, and locks their number until the end of the unit of work.
    async fn count_log_streams(&mut self) -> StoreResult<usize>;
    /// Returns the number of sealed entries of the log.
    async fn log_size(&mut self) -> StoreResult<u64>;
    /// Adds a stream that sends from this position.
    async fn insert_log_stream(&mut self, stream: &LogStream, position: u64) -> StoreResult<()>;
    /// Changes a stream, and takes it from the worker that sends it: a batch that is being sent has no effect on the
    /// position any more. The next attempt is due at once.
    async fn update_log_stream(&mut self, stream: &LogStream) -> StoreResult<()>;
    /// Deletes a stream.
    async fn delete_log_stream(&mut self, id: &LogStreamId) -> StoreResult<()>;
    /// Continues a stream at another position, and ends its failures. A batch that is being sent has no effect on the
    /// position any more.
    async fn move_log_stream(&mut self, id: &LogStreamId, position: u64, now: Timestamp) -> StoreResult<()>;
}

/// A stream of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The tenant.
    pub tenant: TenantId,
    /// The stream.
    pub stream: LogStreamId,
}

/// The right of one worker to send a stream, until it ends or is released.
#[derive(Debug, Clone)]
pub struct Lease {
    /// The worker.
    pub owner: String,
    /// The current time.
    pub now: Timestamp,
    /// When the lease ends.
    pub until: Timestamp,
}

/// A stream that a worker has the lease of.
#[derive(Debug, Clone)]
pub struct Taken {
    /// The stream.
    pub stream: LogStream,
    /// How far it is.
    pub state: StreamState,
    /// The beginning of the next range. It is before the position if the filter has left out all entries in between.
    pub range_from: u64,
}

/// The streams of all tenants, for a [`Worker`](crate::Worker).
#[async_trait]
pub trait StreamQueue: Send + Sync {
    /// Returns streams with entries to send, whose next attempt is due and that no other worker has a lease of.
    async fn due(&self, lease: &Lease, limit: usize) -> StoreResult<Vec<Key>>;
    /// Takes the lease of a stream; `None` if another worker has it, or the stream is disabled or was deleted.
    async fn take(&self, key: &Key, lease: &Lease) -> StoreResult<Option<Taken>>;
    /// Reads at most `limit` entries of a log from a position.
    async fn read(&self, tenant: &TenantId, from: u64, limit: usize) -> StoreResult<LogPage>;
    /// Continues at `to`, and extends the lease. `sent` is the beginning of the range that the receiver accepted, if a
    /// batch was sent. Returns `false`, and changes nothing, if the worker has lost the lease or the stream is not at
    /// `from` any more.
    async fn advance(
        &self,
        key: &Key,
        lease: &Lease,
        (from, to): (u64, u64),
        sent: Option<u64>,
    ) -> StoreResult<bool>;
    /// Records a failure and when the next attempt is due, and ends the lease. With `repeats_last`, the stream goes back
    /// to the beginning of the last batch, because its protocol does not confirm batches.
    async fn fail(
        &self,
        key: &Key,
        lease: &Lease,
        problem: &Problem,
        next_attempt_at: Timestamp,
        repeats_last: bool,
    ) -> StoreResult<Option<FailureNote>>;
    /// Ends the lease. The stream is due again at this time. With `is_done`, it has nothing more to send, and its failures
    /// end.
    async fn release(&self, key: &Key, lease: &Lease, due_at: Timestamp, is_done: bool) -> StoreResult<()>;
}
