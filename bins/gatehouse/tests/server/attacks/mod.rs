//! Attacks that must fail, one file each.

mod bodies;
mod scim_values;
