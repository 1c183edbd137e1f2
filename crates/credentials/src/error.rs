//! Why a credential or a policy is refused.

use webauthn_rs_core::error::WebauthnError;

use crate::password_hash::MAX_BYTES;

/// Why a ceremony came to nothing; the detail is for the log.
#[derive(Debug, thiserror::Error)]
pub enum CeremonyError {
    /// The address of the server cannot be that of a relying party.
    #[error("{0} has no host that passkeys could be made for")]
    Origin(String),
    /// What was sent is not the answer of an authenticator.
    #[error("not the answer of an authenticator: {0}")]
    Malformed(String),
    /// What it says cannot be.
    #[error("the answer of the authenticator contradicts itself: {0}")]
    Contradiction(&'static str),
    /// It does not prove anything.
    #[error("the answer of the authenticator is refused: {0:?}")]
    Refused(WebauthnError),
    /// The library could not begin.
    #[error("the ceremony cannot begin: {0:?}")]
    Begin(WebauthnError),
}

/// Why a factor may not go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RemovalError {
    /// `POLICY_REQUIRES_MFA`
    #[error(
        "this tenant requires a second factor, so it cannot be turned off; an administrator can change that"
    )]
    PolicyRequiresMfa,
    /// `POLICY_REQUIRES_WEBAUTHN`
    #[error("this tenant accepts passkeys alone: enrol a passkey first, then remove the authenticator app")]
    PolicyRequiresWebauthn,
    /// `LAST_FACTOR_POLICY_BLOCKED`
    #[error(
        "this is the last factor and this tenant requires one: enrol another or generate recovery codes first"
    )]
    LastFactor,
}

/// A policy that cannot be: which member, and what to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// No factor would count, or one is named twice.
    #[error("mfa.acceptedFactors: name WEBAUTHN, TOTP or both, each once")]
    AcceptedFactors,
    /// Too short or too long.
    #[error("session.idleMinutes: write a number from 5 to 43200")]
    IdleMinutes,
    /// Too short or too long.
    #[error("session.absoluteDays: write a number from 1 to 365")]
    AbsoluteDays,
    /// Too short or too long.
    #[error("pat.maxDays: write a number from 1 to 366, or null")]
    PatDays,
    /// A scope is named twice.
    #[error("pat.allowedScopes: name each scope once")]
    PatScopes,
}

/// Why a password is not taken: what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WeakPassword {
    /// Too short to stand alone.
    #[error("use at least {0} characters: a few words in a row are fine")]
    Short(usize),
    /// Longer than anybody types.
    #[error("use at most {MAX_BYTES} bytes")]
    Long,
    /// Made of a name that whoever guesses it knows.
    #[error(
        "do not use your own name or address, your organization or this service in the password; use a few other words"
    )]
    OwnName,
    /// Guessed early by whoever tries lists, patterns and words.
    #[error("this password is easy to guess. {0}")]
    Guessable(String),
}
