//! SCIM users and groups, and filters over them.

pub(crate) mod filter;
pub(crate) mod groups;
pub(crate) mod list;
pub(crate) mod users;
