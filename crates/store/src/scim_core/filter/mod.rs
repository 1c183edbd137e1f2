//! SCIM filters as conditions of a query, with the same meaning as in memory
//! (`scim_core::Filter::matches`; a test compares them on both databases).
//!
//! Frequently searched attributes have columns and indexes; all others are in `users.folded`. A negation is pushed
//! down to the comparisons, which treat absent values explicitly, so that NULL never counts as true. Texts are
//! compared by code point; on PostgreSQL with the collation "C".

mod compile;
mod cost;
mod places;
mod sql;

pub(crate) use compile::{FilterScope, Kind};
pub use cost::Cost;
pub(crate) use sql::SqlCondition;
