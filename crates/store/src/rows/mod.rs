//! Rows of any table as texts that mean the same on SQLite and PostgreSQL, to copy them from one database to another, and to
//! encrypt their secrets with another key.

pub(crate) mod digest;
pub(crate) mod sealed;
pub(crate) mod side;
pub(crate) mod tables;
