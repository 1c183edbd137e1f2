//! SCIM filters as conditions of a query, with the same meaning as in memory
//! (`scim_core::Filter::matches`; a test compares them on both databases).
//!
//! What is often looked for has columns and indexes; everything else is in `users.folded`. A negation is
//! pushed down to the comparisons, where it minds absent values, so that NULL never stands for "true".
//! Texts are compared by code point: on PostgreSQL by the collation "C".

mod compile;
mod cost;
mod places;
mod sql;

pub(crate) use compile::{FilterScope, Kind};
pub use cost::Cost;
pub(crate) use sql::SqlCondition;
