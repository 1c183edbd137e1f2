//! The one place that turns errors into HTTP: a file for each area.
//!
//! Inside there is one [`Problem`]; outside two shapes of it: the envelope `{error, code?, reason?}`, and
//! under `/api/scim` the body of RFC 7644 §3.12, which at 401 and 403 carries both.

mod attestation;
mod code;
mod credentials;
mod directory;
mod netpolicy;
mod problem;
mod saml_sp;
mod scim_core;
mod sessions;
mod sign_in;
mod special;
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
    problem::{Cause, Entry},
    special::Overloaded,
};
