//! The storage traits of receivers, streams and events.

use async_trait::async_trait;
use kernel::{Ctx, StoreResult, TenantId, Timestamp, UserId};

use crate::{
    ControlEvent, EventType, Problem, Receiver, ReceiverId, ReceiverWithStream, SourceEvent, StoredKey,
    Stream, StreamId, StreamState,
};

/// Stores all of a tenant's shared signals.
pub trait SignalStore: ReceiverStore + StreamStore + SubjectStore + KeyStore + EventStore {}

impl<S: ReceiverStore + StreamStore + SubjectStore + KeyStore + EventStore> SignalStore for S {}

/// Stores a tenant's receivers.
#[async_trait]
pub trait ReceiverStore: Send {
    /// Returns all receivers, oldest first.
    async fn receivers(&mut self) -> StoreResult<Vec<ReceiverWithStream>>;
    /// Returns a receiver, locked until the end of a unit of work that writes.
    async fn receiver(&mut self, id: &ReceiverId) -> StoreResult<Option<Receiver>>;
    /// Counts the receivers, and locks their number until the end of the unit of work.
    async fn count_receivers(&mut self) -> StoreResult<usize>;
    /// Adds a receiver.
    async fn insert_receiver(&mut self, receiver: &Receiver) -> StoreResult<()>;
    /// Changes a receiver.
    async fn update_receiver(&mut self, receiver: &Receiver) -> StoreResult<()>;
    /// Deletes a receiver, which has no stream.
    async fn delete_receiver(&mut self, id: &ReceiverId) -> StoreResult<()>;
}

/// Stores the streams of receivers.
#[async_trait]
pub trait StreamStore: Send {
    /// Returns the stream of a receiver, locked until the end of a unit of work that writes.
    async fn stream_of(&mut self, receiver: &ReceiverId) -> StoreResult<Option<(Stream, StreamState)>>;
    /// Adds a stream that delivers these types.
    async fn insert_stream(&mut self, stream: &Stream, types: &[EventType]) -> StoreResult<()>;
    /// Changes a stream, and takes it from the worker that sends it. Pending events of other types are deleted.
    async fn update_stream(&mut self, stream: &Stream, types: &[EventType]) -> StoreResult<()>;
    /// Notes when the receiver requested a verification event.
    async fn note_verification(&mut self, stream: &Stream, at: Timestamp) -> StoreResult<()>;
    /// Deletes a stream with its pending events and removed subjects.
    async fn delete_stream(&mut self, id: &StreamId) -> StoreResult<()>;
    /// Notes that a receiver has accepted events by polling, or has refused the last one.
    async fn note_polled(
        &mut self,
        stream: &StreamId,
        accepted_at: Option<Timestamp>,
        refused: Option<&Problem>,
    ) -> StoreResult<()>;
}

/// Stores the users that receivers have removed from their streams.
#[async_trait]
pub trait SubjectStore: Send {
    /// Returns the user with this email address.
    async fn user_with_address(&mut self, email: &str) -> StoreResult<Option<UserId>>;
    /// Counts the users that were removed from a stream.
    async fn count_removed_subjects(&mut self, stream: &StreamId) -> StoreResult<i64>;
    /// Removes a user from a stream. Returns `false` if they are removed already.
    async fn exclude_subject(&mut self, stream: &StreamId, user: &UserId) -> StoreResult<bool>;
    /// Adds a user that was removed. Returns `false` if they are not removed.
    async fn include_subject(&mut self, stream: &StreamId, user: &UserId) -> StoreResult<bool>;
}

/// Stores a tenant's keys.
#[async_trait]
pub trait KeyStore: Send {
    /// Returns the keys of the tenant, newest first.
    async fn signing_keys(&mut self) -> StoreResult<Vec<StoredKey>>;
    /// Adds a key, which replaces the others. Those that were replaced before `forget_before` are deleted. Locks the keys until
    /// the end of the unit of work.
    async fn add_signing_key(&mut self, key: &StoredKey, forget_before: Timestamp) -> StoreResult<()>;
}

/// Stores pending events.
#[async_trait]
pub trait EventStore: Send {
    /// Queues an event about a stream. `stream-updated` is delivered whatever the status of the stream is.
    async fn queue_control(&mut self, ctx: &Ctx, stream: &StreamId, event: &ControlEvent) -> StoreResult<()>;
    /// Returns up to `limit` pending events of a stream, oldest first: only changes of its status unless `is_enabled`.
    async fn pending_events(
        &mut self,
        stream: &StreamId,
        is_enabled: bool,
        limit: i64,
    ) -> StoreResult<Vec<QueuedEvent>>;
    /// Deletes pending events, and returns how many there were.
    async fn delete_events(&mut self, stream: &StreamId, jtis: &[String]) -> StoreResult<usize>;
    /// Counts pending events, up to [`MAX_COUNTED`].
    async fn count_events(&mut self, stream: &StreamId) -> StoreResult<i64>;
}

/// Pending events are counted up to this number.
pub const MAX_COUNTED: i64 = 10_000;

/// A pending event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedEvent {
    /// ID of the token.
    pub jti: String,
    /// When it was queued.
    pub at: Timestamp,
    /// What it says. `None` if there is nothing to say any more: the audit entry is deleted, or its subject was removed from
    /// the stream.
    pub content: Option<EventContent>,
}

/// The content of a pending event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventContent {
    /// About an account or resource.
    Source(SourceEvent),
    /// About the stream.
    Control(ControlEvent),
}

/// How an event is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// The receiver accepted it.
    Accepted,
    /// The receiver cannot read it.
    Refused(Problem),
    /// It says nothing any more.
    Empty,
}

/// A stream of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The tenant.
    pub tenant: TenantId,
    /// The stream.
    pub stream: StreamId,
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
    /// The tenant.
    pub tenant: TenantId,
    /// The receiver.
    pub receiver: Receiver,
    /// The stream.
    pub stream: Stream,
    /// How far it is.
    pub state: StreamState,
    /// The newest key of the tenant.
    pub key: Option<StoredKey>,
    /// The first pending events.
    pub events: Vec<QueuedEvent>,
}

/// The streams with push delivery of all tenants, for a [`Worker`](crate::Worker).
#[async_trait]
pub trait SignalQueue: Send + Sync {
    /// Returns streams with pending events, whose next attempt is due and that no other worker has a lease of.
    async fn due(&self, lease: &Lease, limit: usize) -> StoreResult<Vec<Key>>;
    /// Takes the lease of a stream; `None` if another worker has it, or it does not push any more.
    async fn take(&self, key: &Key, lease: &Lease, events: i64) -> StoreResult<Option<Taken>>;
    /// Deletes events that are done, records how, and extends the lease. Returns `false`, and changes nothing, without the
    /// lease.
    async fn advance(&self, key: &Key, lease: &Lease, done: &[String], how: &Done) -> StoreResult<bool>;
    /// Records a failure and when the next attempt is due, and ends the lease. Returns the first failure since the last
    /// success; `None` without the lease.
    async fn fail(
        &self,
        key: &Key,
        lease: &Lease,
        problem: &Problem,
        next_attempt_at: Timestamp,
    ) -> StoreResult<Option<Timestamp>>;
    /// Ends the lease. The stream is due again at once.
    async fn release(&self, key: &Key, lease: &Lease) -> StoreResult<()>;
}
