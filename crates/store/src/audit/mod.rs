//! The audit log: entries, transparency log, searches, exports and retention.

pub(crate) mod entries;
pub(crate) mod entry_row;
pub(crate) mod entry_time;
pub(crate) mod export;
pub(crate) mod log;
pub(crate) mod query;
pub(crate) mod retention;
pub(crate) mod seal_queue;
pub(crate) mod triggers;
pub(crate) mod unsealed;
pub(crate) mod verify;
