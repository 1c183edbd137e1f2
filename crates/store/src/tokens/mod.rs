//! Personal access tokens and SCIM tokens.

pub(crate) mod dry_runs;
pub(crate) mod pats;
pub(crate) mod removals;
pub(crate) mod rows;
pub(crate) mod scim_refusals;
pub(crate) mod scim_tokens;
