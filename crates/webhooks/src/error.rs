//! Why a subscription stays as it is, and why a secret cannot be derived.

use crate::MAX_FILTERS;
use crate::MAX_NAME;
use crate::MAX_OVERLAP_HOURS;
use crate::MAX_SUBSCRIPTIONS;
use crate::ParseEventFilterError;
use crate::client::UrlError;
use kernel::StoreError;

/// Why a subscription cannot be made or changed so.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is empty, too long or not printable.
    #[error("name: write 1 to {MAX_NAME} printable characters, no space at either end")]
    Name,
    /// The URL cannot be delivered to.
    #[error("url: {0}")]
    Url(#[from] UrlError),
    /// The URL is of an address that is not public.
    #[error("url: deliveries go to public addresses only")]
    NotPublic,
    /// A filter is malformed.
    #[error("eventFilters[{index}]: {problem}")]
    Filter {
        /// Which one, from 0.
        index: usize,
        /// What to write.
        problem: ParseEventFilterError,
    },
    /// There are too many filters.
    #[error("eventFilters: {MAX_FILTERS} at most")]
    Filters,
    /// The overlap is too long.
    #[error("overlapHours: write a number from 0 to {MAX_OVERLAP_HOURS}")]
    Overlap,
    /// The tenant has as many as it may.
    #[error("a tenant has {MAX_SUBSCRIPTIONS} subscriptions at most; remove one first")]
    TooMany,
    /// The tenant has none of this id.
    #[error("there is no subscription of this id")]
    NotFound,
    /// Two secrets sign already.
    #[error("a rotation is under way: complete it first, or rotate with overlapHours 0")]
    RotationUnderWay,
    /// One secret signs already.
    #[error("no rotation is under way")]
    NoRotation,
    /// No secret can be derived.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a secret cannot be derived. Nothing is signed then: a signature by another secret is worse than none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The master key is not in the ring.
    #[error("the master key {0} is not there")]
    Missing(String),
    /// What came of it is not what was shown.
    #[error("the master key {0} is another one than the secret was derived from")]
    Wrong(String),
}
