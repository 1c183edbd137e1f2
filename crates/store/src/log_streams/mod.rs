//! Streams of audit logs: their settings, how far they are, and the queue of a worker.

mod due;
mod failures;
mod progress;
mod queue;
mod streams;

pub use self::{due::LogStreamBacklog, failures::LogStreamNotice, queue::LogStreamQueue};
