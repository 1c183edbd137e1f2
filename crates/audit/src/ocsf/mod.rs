//! Entries as events of the Open Cybersecurity Schema Framework (OCSF), version 1.7.0, for SIEM systems.

mod checkpoint;
mod class;
mod event;

pub use self::{
    checkpoint::{CHECKPOINT, CheckpointEvent, SentRange},
    class::{Class, Mapping, mapping},
    event::{OcsfEvent, Source},
};

/// The version of the schema.
pub const VERSION: &str = "1.7.0";
