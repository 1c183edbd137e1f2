//! An invalid setting.

use std::fmt;

use super::keys::PREFIX;

/// An invalid setting: its name and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub(crate) fn new(problem: String) -> Self {
        Self(problem)
    }

    pub(crate) fn of(name: &str, problem: impl fmt::Display) -> Self {
        Self(format!("{name} ({PREFIX}{}): {problem}", name.to_ascii_uppercase()))
    }
}
