//! Streams of a tenant's audit log to SIEM systems.
//!
//! A stream sends the sealed entries of the log in their order, as events of the Open Cybersecurity Schema Framework
//! (OCSF), and each at least once. It sends in batches. Each batch ends with a
//! [`CheckpointEvent`](audit::ocsf::CheckpointEvent) that names its range of the log, so that a receiver notices gaps and
//! duplicates, and the newest signed checkpoint of the log: the hashes of all events result in its root hash, which
//! proves that nothing is missing.
//!
//! [`Worker`] sends the streams of all tenants. It needs a [`StreamQueue`], which the host implements over its database.

mod destination;
mod encode;
mod error;
mod page;
mod problem;
mod send;
mod store;
mod stream;
mod view;
mod worker;

pub use self::{
    destination::{Destination, DestinationType},
    encode::{Batch, Record, empty_batch},
    error::Error,
    page::LogPage,
    problem::Problem,
    send::{ParseCertificatesError, SendError, Sender, Sending},
    store::{Key, Lease, LogStreamStore, StreamQueue, Taken},
    stream::{
        Change, LogStream, LogStreamId, LogStreamKind, MAX_STREAMS, New, SealSecret, SecretError,
        StreamState, change, create, find, remove, resend,
    },
    view::LogStreamView,
    worker::{FailureNote, StreamObserver, Worker, WorkerLimits},
};
