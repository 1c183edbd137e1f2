//! Witnesses: others who sign a checkpoint after they have verified that the log only grew (C2SP tlog-cosignature,
//! tlog-witness, tlog-policy).
//!
//! A log that shows different histories to two readers needs the cosignatures of witnesses for both, and an honest
//! witness signs only one of them. A [`Cosigner`] signs what [`WitnessedLog::advance`] accepts; a [`WitnessPolicy`] says
//! whose cosignatures a checkpoint must have.

mod cosignature;
mod policy;
mod request;
mod witnessed;

pub use self::{
    cosignature::{Cosignature, Cosigner, CosignerKey, cosignatures},
    policy::{PolicyError, Quorum, Witness, WitnessPolicy, Witnessed},
    request::{AddCheckpoint, RequestError},
    witnessed::{Advance, WitnessError, WitnessedLog},
};
