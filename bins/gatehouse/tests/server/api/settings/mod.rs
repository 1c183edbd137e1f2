//! What administrators decide for their tenant.

mod network;
