//! Credentials of requests, and their last use.

pub(crate) mod credential;
pub(crate) mod holder;
pub(crate) mod last_use;
pub(crate) mod recent_use;
pub(crate) mod reread;
