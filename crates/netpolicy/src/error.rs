//! Why a policy stays as it is.

use kernel::StoreError;

use crate::{
    change::{MAX_LABEL, MAX_RULES},
    cidr::{Cidr, ParseCidrError},
};

/// Why a policy stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody could come in any more.
    #[error("nobody could come in: add a rule first, or leave administrators their bypass")]
    Lockout,
    /// The one who changes it could not come in any more.
    #[error("your own address would be shut out; add a rule for it, or acknowledge CALLER_NOT_COVERED")]
    CallerNotCovered,
    /// Not a range.
    #[error(transparent)]
    Cidr(#[from] ParseCidrError),
    /// There is a rule with this range.
    #[error("there is a rule for {0} already")]
    Duplicate(Cidr),
    /// There are as many rules as there may be.
    #[error("there are {MAX_RULES} rules; remove one first")]
    TooMany,
    /// There is no such rule.
    #[error("there is no such rule")]
    NotFound,
    /// What a rule is called is too long, or cannot be seen.
    #[error("1 to {MAX_LABEL} characters, none of them a control character")]
    Label,
    /// What is stored could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}
