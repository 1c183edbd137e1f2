//! Tenants, people and links.

pub(crate) mod administrators;
pub(crate) mod connection_accounts;
pub(crate) mod held_roles;
pub(crate) mod holders;
pub(crate) mod links;
pub(crate) mod people;
pub(crate) mod role_rules;
pub(crate) mod roles;
pub(crate) mod sign_in_means;
pub(crate) mod summaries;
pub(crate) mod tenants;
