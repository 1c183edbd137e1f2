//! Tenants, people and links.

pub(crate) mod administrators;
pub(crate) mod links;
pub(crate) mod people;
pub(crate) mod sign_in_means;
pub(crate) mod summaries;
pub(crate) mod tenants;
