//! Request bodies: time limits, and memory limits per client address and in total.
//!
//! Pending bodies are counted separately from requests in progress, so slow clients occupy no slot. When the memory
//! for bodies is full, the address whose pending bodies use the most loses one.

mod incoming;
mod limit;
mod memory;
mod ranking;

pub use self::limit::BodyRefusal;
pub(crate) use self::{
    incoming::{BodyWith, Incoming, receive},
    memory::Bodies,
};
