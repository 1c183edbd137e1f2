//! The pipeline that every request passes through.
//!
//! A [`server::Server`] accepts connections. The middleware matches the operation in the OpenAPI document, enforces
//! limits, authenticates the caller and answers errors with a [`errors::Problem`]. A handler names the permission
//! that it needs as a parameter, [`access::Access`], which is the only way to the data.
//!
//! This crate knows no endpoint, page or setting: routes and keys are passed in. [`logs`] starts the log, and
//! [`description`] completes an API description with the responses that the pipeline adds.

pub mod access;
pub mod bodies;
pub mod body;
pub mod caller;
mod compression;
pub mod connections;
pub mod cookies;
pub mod counters;
pub mod description;
pub mod device_bound;
pub mod document;
pub mod errors;
pub mod event_tally;
pub mod file_draft;
pub mod file_watch;
pub mod hashing;
pub mod key_ring;
pub mod keys;
pub mod last_uses;
pub mod load;
pub mod locations;
pub mod logs;
pub mod meter;
pub mod metric;
pub mod middleware;
pub mod network;
pub mod operations;
pub mod paging;
pub mod pending_responses;
pub mod permissions;
pub mod pipeline;
pub mod probes;
pub mod purposes;
pub mod rate_limit;
pub mod rates;
pub mod readiness;
pub mod refresh_worker;
pub mod refusals;
pub(crate) mod scim_refusals;
pub mod server;
pub mod shape;
pub(crate) mod slot_shares;
#[cfg(feature = "otlp")]
pub mod spans;
pub mod step_up;
pub mod tls;
pub mod trace;
