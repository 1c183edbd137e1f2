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
    #[error("nobody could come in: add a rule first, or leave administrators their bypass")]
    Lockout,
    /// The change would block the editor's own address.
    #[error("your own address would be blocked; add a rule for it, or acknowledge CALLER_NOT_COVERED")]
    CallerNotCovered,
    /// The text is not a CIDR range.
    #[error(transparent)]
    Cidr(#[from] ParseCidrError),
    /// A rule with this range exists.
    #[error("there is a rule for {0} already")]
    Duplicate(Cidr),
    /// The tenant has the maximum number of rules.
    #[error("there are {MAX_RULES} rules; remove one first")]
    TooMany,
    /// There is no such rule.
    #[error("there is no such rule")]
    NotFound,
    /// The label is empty, too long, or contains control characters.
    #[error("1 to {MAX_LABEL} characters, none of them a control character")]
    Label,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
