//! Background workers.

pub(crate) mod deliveries;
pub(crate) mod domains;
pub(crate) mod log_streams;
pub(crate) mod oidc;
pub(crate) mod saml;
pub(crate) mod sealer;
pub(crate) mod signals;
pub(crate) mod statistics;
