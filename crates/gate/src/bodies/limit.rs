//! Limits of request bodies, and errors when they are exceeded.

use std::time::Duration;

use crate::errors::Problem;

/// The limits of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyLimit {
    /// Maximum size in bytes.
    pub(crate) bytes: usize,
    /// Time limit for the complete body.
    pub(crate) within: Duration,
}

/// The limits of most bodies.
const USUAL: BodyLimit = BodyLimit { bytes: 1024 * 1024, within: Duration::from_secs(30) };
/// The limits of bodies from unauthenticated clients, which contain credentials and no documents.
const SIGN_IN: BodyLimit = BodyLimit { bytes: 16 * 1024, within: Duration::from_secs(5) };
/// The limits of security event tokens, whose senders may be anybody.
const TOKEN: BodyLimit = BodyLimit { bytes: 64 * 1024, within: Duration::from_secs(10) };
/// `Retry-After` in seconds for an address with too many pending bodies. By then slow ones have timed out.
const RETRY_AFTER: u64 = 5;

impl BodyLimit {
    pub(crate) fn of(path: &str) -> Self {
        match path {
            path if path.starts_with("/api/auth/") => SIGN_IN,
            path if path.starts_with("/api/ssf/") && path.ends_with("/events") => TOKEN,
            _ => USUAL,
        }
    }
}

/// Why a body was rejected, also a metric label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyRefusal {
    /// 429: its address has too many pending bodies or uses too much memory.
    Address,
    /// 503: the memory for bodies is full, and this address uses the most.
    Memory,
    /// 400: it arrives too slowly.
    Slow,
    /// 413: it is too large.
    TooLarge,
}

impl BodyRefusal {
    /// All reasons.
    pub const ALL: [Self; 4] = [Self::Address, Self::Memory, Self::Slow, Self::TooLarge];

    /// Returns the label of the metric.
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
                Problem::busy("Your address has too many unfinished request bodies", RETRY_AFTER)
            }
            Self::Memory => Problem::unavailable(),
            Self::Slow => Problem::invalid_syntax(format!(
                "The body did not arrive in time. Send it within {} s, at 1 KiB per second or faster.",
                limit.within.as_secs()
            )),
            Self::TooLarge => Problem::payload_too_large(limit.bytes),
        }
    }
}
