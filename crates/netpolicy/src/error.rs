//! The reasons for refusing a change to a policy.

use kernel::StoreError;

use crate::{
    MAX_ADDRESSES,
    change::{MAX_LABEL, MAX_RULES},
    cidr::{Cidr, ParseCidrError},
};

/// The reason why a policy was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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

/// The reason why a preview is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PreviewError {
    /// The member of the request contains no address.
    #[error("{0}: {1:?} is not an IPv4 or IPv6 address")]
    Address(&'static str, String),
    /// There are too many addresses.
    #[error("ips: {MAX_ADDRESSES} addresses at most")]
    TooManyAddresses,
    /// The request has both or neither of `ip` and `ips`.
    #[error("ip: send one address, or a list as ips")]
    OneOrSeveral,
    /// There are too many rules.
    #[error("rules: {MAX_RULES} at most")]
    TooManyRules,
    /// The rule with this index is not a CIDR range.
    #[error("rules[{0}]: {1}")]
    Cidr(usize, ParseCidrError),
}
