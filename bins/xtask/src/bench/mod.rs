//! Measurements: the server beside its floors, in one run, interleaved.

mod audit;
mod audit_reads;
mod auth;
mod cpu;
mod load;
mod overload;
mod path;
mod peer;
mod pgbench;
mod policies;
mod scim;
mod sink;
mod site;
mod slow_bodies;
mod stepup;
mod table;
mod webhooks;

pub(crate) use audit::run as audit;
pub(crate) use auth::run as auth;
pub(crate) use overload::run as overload;
pub(crate) use path::run as path;
pub(crate) use policies::run as policies;
pub(crate) use scim::run as scim;
pub(crate) use stepup::run as stepup;
pub(crate) use webhooks::run as webhooks;
