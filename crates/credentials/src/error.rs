//! The reasons for refusing a credential or a policy.

use webauthn_rs_core::error::WebauthnError;

use crate::password_hash::MAX_BYTES;

/// The reason why a WebAuthn ceremony failed. The detail is for the log.
#[derive(Debug, thiserror::Error)]
pub enum CeremonyError {
    /// The origin of the server cannot be a relying party.
    #[error("passkeys need a host name, which {0} lacks")]
    Origin(String),
    /// The input is not a response of an authenticator.
    #[error("not a response of an authenticator: {0}")]
    Malformed(String),
    /// The response contradicts itself.
    #[error("the authenticator's response contradicts itself: {0}")]
    Contradiction(&'static str),
    /// The library refused the response.
    #[error("the authenticator's response is refused: {0:?}")]
    Refused(WebauthnError),
    /// The library could not start the ceremony.
    #[error("the ceremony cannot start: {0:?}")]
    Begin(WebauthnError),
}

/// The reason why a factor cannot be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RemovalError {
    /// `POLICY_REQUIRES_MFA`
    #[error(
        "This tenant requires a second factor, so you cannot turn it off. An administrator can change the \
         sign-in policy."
    )]
    PolicyRequiresMfa,
    /// `POLICY_REQUIRES_WEBAUTHN`
    #[error("This tenant accepts only passkeys. Enrol a passkey first, then remove the authenticator app.")]
    PolicyRequiresWebauthn,
    /// `LAST_FACTOR_POLICY_BLOCKED`
    #[error(
        "This is your last factor, and this tenant requires one. First enrol another one or generate recovery codes."
    )]
    LastFactor,
}

/// The invalid member of a sign-in policy, with the permitted values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The list is empty, or names a factor twice.
    #[error("mfa.acceptedFactors: name WEBAUTHN, TOTP or both, each once")]
    AcceptedFactors,
    /// The idle time is out of range.
    #[error("session.idleMinutes: write a number from 5 to 43200")]
    IdleMinutes,
    /// The absolute lifetime is out of range.
    #[error("session.absoluteDays: write a number from 1 to 365")]
    AbsoluteDays,
    /// The maximum lifetime of tokens is out of range.
    #[error("pat.maxDays: write a number from 1 to 366, or null")]
    PatDays,
    /// A scope is named twice.
    #[error("pat.allowedScopes: name each scope once")]
    PatScopes,
}

/// The reason for refusing a new password, with advice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WeakPassword {
    /// Too short.
    #[error("use at least {0} characters: a few words in a row are fine")]
    Short(usize),
    /// Longer than the maximum.
    #[error("use at most {MAX_BYTES} bytes")]
    Long,
    /// Consists mostly of a name that an attacker would try.
    #[error(
        "do not use your own name or address, your organization or the name of this service; use a few other words"
    )]
    OwnName,
    /// Easy to guess by lists, patterns or words.
    #[error("this password is easy to guess. {0}")]
    Guessable(String),
    /// In a collection of leaked passwords. The host checks this.
    #[error("this password has leaked from another service; choose one that you use nowhere else")]
    Breached,
}
