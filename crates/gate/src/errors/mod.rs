//! Converts errors to HTTP responses, with one file per area.
//!
//! Every error becomes a [`Problem`]. Its response is the envelope `{error, code?, reason?}`, or under `/api/scim`
//! the body of RFC 7644 §3.12, which also includes the envelope's members at 401 and 403.

mod attestation;
mod audit;
mod code;
mod credentials;
mod directory;
mod log_streams;
mod netpolicy;
mod problem;
pub mod schema;
mod scim_core;
mod sessions;
mod sign_in;
mod signals;
mod special;
mod sso;
mod stepup;
mod store;
mod tokens;
mod webhooks;

pub use self::{
    code::Code,
    problem::{Problem, SCIM_JSON},
    special::ScimProblem,
};
pub(crate) use self::{
    problem::{Cause, Entry, Refused, ScimDetail},
    special::Overloaded,
};
