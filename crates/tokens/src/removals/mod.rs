//! Limits how many users a SCIM token may deactivate or delete within an hour.
//!
//! A directory that loses its users, or a leaked token, otherwise removes everybody within minutes. Above the limit the
//! token's removals are paused and held until an administrator decides. All other requests of the token work.

mod limit;
mod memory;
mod rules;
mod store;

pub use limit::{InvalidLimit, RemovalLimit};
pub use memory::MemoryRemovals;
pub use rules::{Admission, WINDOW, admit, resume};
pub use store::{HeldRemoval, Removal, RemovalKind, RemovalState, RemovalStore};
