//! `/api/auth`

pub(crate) mod enrolment;
mod foreign;
mod limits;
mod links;
mod mail;
mod passkeys;
mod races;
mod sign_in;
mod step_up;
