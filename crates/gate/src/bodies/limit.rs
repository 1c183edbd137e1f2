//! What a body may be, and why one is refused.

use std::time::Duration;

use crate::errors::Problem;

/// What a body may be, and how it has to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyLimit {
    /// Its bytes at most.
    pub(crate) bytes: usize,
    /// The time for all of it.
    pub(crate) within: Duration,
}

/// Any body.
const USUAL: BodyLimit = BodyLimit { bytes: 1024 * 1024, within: Duration::from_secs(30) };
/// A body that anybody may send before they are known: a credential, never a document.
const SIGN_IN: BodyLimit = BodyLimit { bytes: 16 * 1024, within: Duration::from_secs(5) };
/// When an address may try again that has too many bodies under way, in seconds: by then the slow ones have ended.
const RETRY_AFTER: u64 = 5;

impl BodyLimit {
    pub(crate) fn of(path: &str) -> Self {
        if path.starts_with("/api/auth/") { SIGN_IN } else { USUAL }
    }
}

/// Why a body was refused, as `/metrics` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyRefusal {
    /// Its address has too many, or holds too much: 429.
    Address,
    /// The memory for bodies is full, and this address holds the most: 503.
    Memory,
    /// It arrives too slowly: 400.
    Slow,
    /// It is too large: 413.
    TooLarge,
}

impl BodyRefusal {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Address, Self::Memory, Self::Slow, Self::TooLarge];

    /// Label of the metric.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Memory => "memory",
            Self::Slow => "slow",
            Self::TooLarge => "too_large",
        }
    }

    pub(crate) fn problem(self, limit: BodyLimit) -> Problem {
        match self {
            Self::Address => {
                Problem::busy("your address has too many unfinished request bodies", RETRY_AFTER)
            }
            Self::Memory => Problem::unavailable(),
            Self::Slow => Problem::invalid_syntax(format!(
                "the body did not arrive in time: send it within {} s, and 1 KiB or more each second",
                limit.within.as_secs()
            )),
            Self::TooLarge => Problem::payload_too_large(limit.bytes),
        }
    }
}
