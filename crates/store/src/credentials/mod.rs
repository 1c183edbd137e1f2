//! Passwords, factors, tickets and attempts.

pub(crate) mod accounts;
pub(crate) mod enrolled_passkeys;
pub(crate) mod factors;
pub(crate) mod sign_in;
