//! Fills `users.folded` in rows that were written before the column existed.

pub(crate) mod postgres;
pub(crate) mod sqlite;
