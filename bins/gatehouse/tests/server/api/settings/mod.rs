//! What administrators decide for their tenant.

mod attestation;
mod network;
