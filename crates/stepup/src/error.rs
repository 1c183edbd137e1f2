//! Why there is no challenge, or no token.

use kernel::StoreError;

use crate::purpose::Factor;

/// Why there is no challenge, or no token.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The person has no factor that counts for the purpose.
    #[error("there is no enrolled factor that counts for {0}: enrol a passkey, or ask an administrator")]
    NoFactorAvailable(&'static str),
    /// The factor does not count for the purpose.
    #[error("{factor} does not count for {purpose}", factor = .0.as_str(), purpose = .1)]
    FactorNotPermitted(Factor, String),
    /// Not there, of another session, answered, too old, or dead.
    #[error("this challenge was answered, has ended, or is not of this session; begin again")]
    ChallengeInvalid,
    /// A token is bound to an address, and there is none.
    #[error("the client's address is not known, and a proof is bound to it")]
    AddressUnknown,
    /// There is no key to sign with.
    #[error("there is no key to sign with")]
    NoKey,
    /// What is stored could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ceremony itself failed, which says nothing about the answer.
    #[error("the ceremony failed: {0}")]
    Ceremony(Box<dyn std::error::Error + Send + Sync>),
}
