//! Entries as records of a batch, and batches in the form of each protocol.

mod batch;
mod hec;
mod lines;
mod otlp;
mod syslog;

pub use self::batch::{Batch, Record, empty_batch};
pub(crate) use self::{
    batch::{BatchLimits, batches},
    hec::hec,
    lines::{compressed_lines, lines},
    otlp::otlp,
    syslog::syslog,
};
