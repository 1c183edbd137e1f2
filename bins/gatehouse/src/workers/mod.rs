//! Background workers.

pub(crate) mod deliveries;
pub(crate) mod domains;
pub(crate) mod saml;
mod seal_backlog;
pub(crate) mod sealer;
