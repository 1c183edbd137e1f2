//! Attacks, each written down as it was made: they fail.

mod scim_scans;
mod slow_export;
