//! The reasons for refusing a change to a policy.

use kernel::StoreError;

use crate::{
    change::{MAX_LABEL, MAX_RULES},
    cidr::{Cidr, ParseCidrError},
};

/// The reason why a policy was not changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The change would lock everybody out.
    #[error("This policy would block everybody. Add a rule first, or keep the administrators' bypass.")]
    Lockout,
    /// The change would block the editor's own address.
    #[error(
        "This policy would block your own address. Add a rule for it, or acknowledge CALLER_NOT_COVERED."
    )]
    CallerNotCovered,
    /// The text is not a CIDR range.
    #[error(transparent)]
    Cidr(#[from] ParseCidrError),
    /// A rule with this range exists.
    #[error("a rule for {0} already exists")]
    Duplicate(Cidr),
    /// The tenant has the maximum number of rules.
    #[error("There are already {MAX_RULES} rules, the maximum. Remove one first.")]
    TooMany,
    /// There is no such rule.
    #[error("there is no such rule")]
    NotFound,
    /// The label is empty, too long, or contains control characters.
    #[error("write 1 to {MAX_LABEL} characters without control characters")]
    Label,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
