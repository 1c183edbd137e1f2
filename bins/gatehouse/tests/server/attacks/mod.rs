//! Attacks that must fail, one file each.

mod bodies;
mod saml_subject;
mod scim_values;
