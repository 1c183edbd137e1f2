//! Attacks that once succeeded, one file each: none may succeed again.

mod forged_history;
mod hidden_refusals;
