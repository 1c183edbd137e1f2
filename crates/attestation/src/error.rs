//! The reasons for refusing a change to a policy, and files of trust anchors.

use std::fmt;

use kernel::StoreError;

use crate::change::MAX_MODELS;

/// The reason why a policy was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The policy names too many models.
    #[error("write at most {MAX_MODELS} models")]
    TooMany,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An unusable file of trust anchors: its setting and path, and the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct TrustFileError {
    place: String,
    problem: String,
}

impl TrustFileError {
    pub(crate) fn new(place: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self { place: place.into(), problem: problem.to_string() }
    }
}
