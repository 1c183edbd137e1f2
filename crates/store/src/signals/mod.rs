//! Shared signals: receivers, their streams, and events that wait; transmitters, and which of their events were received.

mod events;
mod fan_out;
mod keys;
mod progress;
mod queue;
mod received;
pub(crate) mod receiver_row;
mod receivers;
mod streams;
mod subjects;
mod transmitter_row;
mod transmitters;

pub(crate) use self::fan_out::{ChangedEmail, SignalFanOut};
pub use self::queue::PushQueue;
