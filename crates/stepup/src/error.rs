//! The reasons for refusing a challenge or a token.

use kernel::StoreError;

use crate::purpose::Factor;

/// The reason why there is no challenge or token.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user has no factor that the purpose accepts.
    #[error("there is no enrolled factor that counts for {0}: enrol a passkey, or ask an administrator")]
    NoFactorAvailable(&'static str),
    /// The purpose does not accept this factor.
    #[error("{factor} does not count for {purpose}", factor = .0.as_str(), purpose = .1)]
    FactorNotPermitted(Factor, String),
    /// The challenge is unknown, from another session, answered, expired, or had too many wrong answers.
    #[error("this challenge was answered, has ended, or is not of this session; begin again")]
    ChallengeInvalid,
    /// The client's address is unknown, but tokens are bound to one.
    #[error("the client's address is not known, and a proof is bound to it")]
    AddressUnknown,
    /// There is no signing key.
    #[error("there is no key to sign with")]
    NoKey,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ceremony failed for a technical reason. The answer was not judged.
    #[error("the ceremony failed: {0}")]
    Ceremony(Box<dyn std::error::Error + Send + Sync>),
}
