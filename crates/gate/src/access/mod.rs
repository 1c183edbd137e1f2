//! Access to the database requires a permission.
//!
//! The middleware authenticates the caller ([`Gate::authenticate`]) and stores the result in the request. A handler
//! names the permission it needs as a parameter, [`Access<P>`], which rejects callers without it and provides
//! [`Access::read`] and [`Access::write`]. The [`Store`] is private to this module, so handlers cannot bypass it.

mod authenticate;
mod authority;
mod gate;
mod request_identity;
mod tenant_access;
mod unit_of_work;
mod visitor;

pub use self::{
    authority::{WorkError, lifetime},
    gate::Gate,
    request_identity::{SESSION_IDLE, user_agent},
    tenant_access::Access,
    unit_of_work::record,
    visitor::Visitor,
};
pub(crate) use self::{
    request_identity::{RequestOrigin, passed, take_identified},
    unit_of_work::record_in_background,
};
