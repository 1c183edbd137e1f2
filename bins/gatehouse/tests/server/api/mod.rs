pub(crate) mod auth;
mod developers;
mod me;
mod scim;
mod settings;
