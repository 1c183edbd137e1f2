pub(crate) mod auth;
mod developers;
mod me;
pub(crate) mod oidc;
pub(crate) mod saml;
mod scim;
mod settings;
mod ssf;
