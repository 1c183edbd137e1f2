//! Request bodies: how long the server waits for them, and how much memory they hold, for each client address and
//! in all.
//!
//! A body that is waited for is counted apart from the requests that are worked on, so slow clients take no slot.
//! When the memory for bodies is full, the address whose waiting bodies hold the most gives way.

mod incoming;
mod limit;
mod memory;
mod ranking;

pub use self::limit::BodyRefusal;
pub(crate) use self::{
    incoming::{BodyWith, Incoming, receive},
    memory::Bodies,
};
