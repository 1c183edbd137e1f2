//! The reasons for refusing a challenge or a token.

use kernel::StoreError;

use crate::purpose::Factor;

/// The reason why there is no challenge or token.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user has no factor that the purpose accepts.
    #[error(
        "You have no factor that {0} accepts. Enrol a second factor at /account/security, or ask an administrator."
    )]
    NoFactorAvailable(&'static str),
    /// The purpose does not accept this factor.
    #[error("{purpose} does not accept the factor {factor}. Use another factor.", factor = .0.as_str(), purpose = .1)]
    FactorNotPermitted(Factor, String),
    /// The challenge is unknown, from another session, answered, expired, or had too many wrong answers.
    #[error(
        "This challenge has expired, was already answered, or belongs to another session. Request a new one."
    )]
    ChallengeInvalid,
    /// The client's address is unknown, but tokens are bound to one.
    #[error("the client's address is unknown, but step-up tokens are bound to an address")]
    AddressUnknown,
    /// There is no signing key.
    #[error("there is no key to sign step-up tokens; set master_key")]
    NoKey,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ceremony failed for a technical reason. The answer was not judged.
    #[error("the ceremony failed: {0}")]
    Ceremony(Box<dyn std::error::Error + Send + Sync>),
}
