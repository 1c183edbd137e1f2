//! `/api/auth`

mod device_bound;
pub(crate) mod enrolment;
pub(crate) mod foreign;
mod forgotten_password;
mod limits;
mod links;
mod mail;
pub(crate) mod passkeys;
pub(crate) mod races;
mod setup;
mod sign_in;
mod step_up;
