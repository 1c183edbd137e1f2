//! The only door to the database is a permission.
//!
//! The middleware proves who calls ([`Gate::authenticate`]) and leaves a [`Pass`] in the request. A
//! handler names the permission it needs as a parameter, [`Access<P>`]: it is ready at once, refuses
//! who may not, and is the one way to [`Access::read`] and [`Access::write`]. The [`Store`] is private
//! to this module, so there is no way around.

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
    request_identity::user_agent,
    tenant_access::Access,
    unit_of_work::record,
    visitor::Visitor,
};
pub(crate) use self::{
    request_identity::{RequestOrigin, passed},
    unit_of_work::record_in_background,
};
