//! What a request is authenticated by, and when it was last used.

pub(crate) mod credential;
pub(crate) mod holder;
pub(crate) mod last_use;
pub(crate) mod recent_use;
pub(crate) mod reread;
