//! `/api/auth`

pub(crate) mod enrolment;
pub(crate) mod foreign;
mod limits;
mod links;
mod mail;
pub(crate) mod passkeys;
pub(crate) mod races;
mod sign_in;
mod step_up;
