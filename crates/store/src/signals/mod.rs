//! Shared signals: receivers, their streams, and events that wait.

mod events;
mod fan_out;
mod keys;
mod progress;
mod queue;
pub(crate) mod receiver_row;
mod receivers;
mod streams;
mod subjects;

pub(crate) use self::fan_out::{ChangedEmail, SignalFanOut};
pub use self::queue::PushQueue;
