//! Attacks that must fail, one file each.

mod scim_values;
