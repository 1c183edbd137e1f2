//! SCIM users and groups, and filters on them.

pub(crate) mod filter;
pub(crate) mod groups;
pub(crate) mod list;
pub(crate) mod users;
