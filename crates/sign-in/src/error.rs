//! The reasons for refusing a sign-in step.

use audit::Event;
use kernel::{Ctx, StoreError};

/// The reason for refusing a sign-in step.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is unknown, the password is wrong, or it was changed meanwhile. All three look alike to the
    /// client.
    #[error("The email address or the password is incorrect.")]
    InvalidCredentials,
    /// The ticket is unknown, expired, consumed, for another step, or had too many wrong answers.
    #[error("This sign-in has expired or was already completed. Sign in again.")]
    TicketInvalid,
    /// The link is unknown, expired, consumed, or was issued for another address or role.
    #[error(
        "This link has expired or was already used, or the account has changed since. Ask an administrator for a \
         new one."
    )]
    LinkInvalid,
    /// The code or assertion is incorrect.
    #[error("That code is incorrect or has expired, or the passkey was not accepted. Try again.")]
    FactorInvalid,
    /// The tenant does not accept this factor, and the user has another that it accepts.
    #[error("This tenant does not accept that factor. Use another of your factors.")]
    FactorNotAccepted,
    /// The account accepts no codes until its user signs in with a passkey or an administrator resets its factors.
    #[error(
        "Too many incorrect codes in a row. Use a passkey, or ask an administrator to reset your factors."
    )]
    TooManyWrongCodes,
    /// A field of the request is malformed. The text names the field and what to send.
    #[error("{0}")]
    Malformed(&'static str),
    /// The response of the authenticator is malformed.
    #[error("credential: {0}")]
    MalformedCredential(String),
    /// A recovery code cannot prove a step-up.
    #[error("a recovery code cannot be used for a step-up; use another factor")]
    RecoveryCodeNotAccepted,
    /// The user was deleted or is disabled.
    #[error("This account is disabled. Ask an administrator of the tenant to enable it.")]
    AccountDisabled,
    /// The tenant requires single sign-on.
    #[error("This tenant requires single sign-on. Sign in through its identity provider.")]
    SsoRequired,
    /// The tenant does not accept single sign-on.
    #[error("This tenant does not accept single sign-on. Sign in with your password.")]
    SsoNotAllowed,
    /// The session has ended.
    #[error("This session was ended. Sign in again.")]
    SessionRevoked,
    /// The session lacks a second factor.
    #[error("This session needs a second factor. Verify or enrol one to finish signing in.")]
    MfaRequired,
    /// The act requires a recent sign-in. The text says how recent.
    #[error("{0}")]
    SignInRequired(&'static str),
    /// The user already has the maximum number of factors.
    #[error("You already have {max} factors, the maximum. Remove one first.", max = credentials::MAX_FACTORS)]
    TooManyFactors,
    /// No user with this id.
    #[error("There is no such user.")]
    UserNotFound,
    /// The user is disabled, so a link would not help them.
    #[error("This user is disabled. Enable the user first.")]
    UserDisabled,
    /// The tenant's network policy blocks the client's address.
    #[error("{}", netpolicy::BLOCKED)]
    NetworkBlocked(Box<NetworkBlocked>),
    /// Passkeys are unavailable because the server's address cannot be a relying party.
    #[error(
        "Passkeys are not available on this server. The operator has to set base_url to a URL with a host name."
    )]
    NoPasskeys,
    /// The state machine has no such step in this state.
    #[error("the sign-in does not allow this step in its present state")]
    OutOfOrder,
    /// An internal failure, such as a secret that no key decrypts. The text is for the log only.
    #[error("{0}")]
    Internal(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A sign-in that the network policy blocks. The unit of work is rolled back, so the caller has to record the entry.
pub struct NetworkBlocked {
    /// The user and the client's address.
    pub ctx: Ctx,
    /// The audit entry to record.
    pub event: Event,
}

impl std::fmt::Debug for NetworkBlocked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocked").field("event", &self.event).finish_non_exhaustive()
    }
}

impl Error {
    /// Returns [`Error::Internal`] with this cause.
    pub(crate) fn internal(cause: impl std::fmt::Display) -> Self {
        Self::Internal(cause.to_string())
    }
}

/// The reason for refusing a change that affects the administrators' means of signing in.
#[derive(Debug, thiserror::Error)]
pub enum LockoutError {
    /// No administrator could sign in after the change. The text names what is missing.
    #[error("no administrator could sign in after this change: {0}")]
    NoWayIn(&'static str),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
