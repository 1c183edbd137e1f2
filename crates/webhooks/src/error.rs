//! Errors of changing subscriptions and of deriving secrets.

use crate::MAX_FILTERS;
use crate::MAX_NAME;
use crate::MAX_OVERLAP_HOURS;
use crate::MAX_SUBSCRIPTIONS;
use crate::ParseEventFilterError;
use crate::client::UrlError;
use kernel::StoreError;

/// The reason a subscription cannot be created or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is empty, too long or not printable.
    #[error("name: write 1 to {MAX_NAME} printable characters, no space at either end")]
    Name,
    /// The URL is invalid.
    #[error("url: {0}")]
    Url(#[from] UrlError),
    /// The URL's address is not public.
    #[error("url: deliveries go to public addresses only")]
    NotPublic,
    /// A filter is malformed.
    #[error("eventFilters[{index}]: {problem}")]
    Filter {
        /// The filter's index, from 0.
        index: usize,
        /// The correction to make.
        problem: ParseEventFilterError,
    },
    /// There are too many filters.
    #[error("eventFilters: write at most {MAX_FILTERS} filters")]
    Filters,
    /// The overlap of a rotation is too long.
    #[error("overlapHours: write a number from 0 to {MAX_OVERLAP_HOURS}")]
    Overlap,
    /// The tenant has the maximum number of subscriptions.
    #[error("This tenant already has {MAX_SUBSCRIPTIONS} webhooks, the maximum. Remove one first.")]
    TooMany,
    /// The tenant has no subscription with this id.
    #[error("There is no webhook with this ID.")]
    NotFound,
    /// The subscription is disabled.
    #[error("the webhook is disabled; enable it first")]
    Disabled,
    /// The time range of a replay is empty.
    #[error("from: must be before to and in the past")]
    Range,
    /// A secret rotation is already in progress.
    #[error(
        "A rotation of the signing secret is already in progress. Complete it first, or rotate with overlapHours 0."
    )]
    RotationUnderWay,
    /// No secret rotation is in progress.
    #[error("No rotation of the signing secret is in progress.")]
    NoRotation,
    /// The secret cannot be derived.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason a secret cannot be derived. Nothing is signed then; a signature with a wrong secret would be worse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The master key is not configured.
    #[error("the master key {0} is missing; add it to master_key again")]
    Missing(String),
    /// The derived secret differs from the one that was shown.
    #[error(
        "the master key {0} differs from the key that the secret was derived from; restore the original key"
    )]
    Wrong(String),
}
