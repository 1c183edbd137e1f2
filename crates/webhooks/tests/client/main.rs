//! The client that asks addresses which strangers have chosen: whom it talks to, and what an answer may cost it.
#![cfg(feature = "deliver")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests speak by panicking")]

mod bounds;
mod guard;
mod hostile;
mod manners;
mod receiver;
mod support;
mod table;
