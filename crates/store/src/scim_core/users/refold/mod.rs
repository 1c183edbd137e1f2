//! Fills `users.folded` where it is missing: rows from before there was such a column.

pub(crate) mod postgres;
pub(crate) mod sqlite;
