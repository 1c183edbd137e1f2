pub(crate) mod auth;
mod developers;
mod me;
mod saml;
mod scim;
mod settings;
