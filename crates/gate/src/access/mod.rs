//! The only door to the database is a permission.
//!
//! The middleware proves who calls ([`Gate::authenticate`]) and leaves a [`Pass`] in the request. A
//! handler names the permission it needs as a parameter, [`Access<P>`]: it is ready at once, refuses
//! who may not, and is the one way to [`Access::read`] and [`Access::write`]. The [`Store`] is private
//! to this module, so there is no way around.

mod authenticate;
mod authority;
mod door;
mod gate;
mod pass;
mod visitor;
mod work;

pub use self::{
    authority::{WorkError, lifetime},
    door::Access,
    gate::Gate,
    pass::user_agent,
    visitor::Visitor,
    work::entered,
};
pub(crate) use self::{
    pass::{Arrival, passed},
    work::enter,
};
