//! The reasons for refusing a sign-in step.

use audit::Event;
use kernel::{Ctx, StoreError};

/// The reason for refusing a sign-in step.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is unknown, the password is wrong, or it was changed meanwhile. All three look alike to the
    /// client.
    #[error("the e-mail address or the password is wrong")]
    InvalidCredentials,
    /// The ticket is unknown, expired, consumed, for another step, or had too many wrong answers.
    #[error("this sign-in has taken too long or was finished already; begin again")]
    TicketInvalid,
    /// The link is unknown, expired, consumed, or was issued for another address or role.
    #[error(
        "this link was used, has ended, or is no longer valid for this account; ask an administrator for another"
    )]
    LinkInvalid,
    /// The code or assertion is incorrect.
    #[error("this is not a code or passkey that is good now; try again")]
    FactorInvalid,
    /// The tenant does not accept this factor, and the user has another that it accepts.
    #[error("this tenant does not accept that factor; use another of yours")]
    FactorNotAccepted,
    /// The account accepts no codes until its user signs in with a passkey or an administrator resets its factors.
    #[error(
        "Too many incorrect codes in a row. Use a passkey, or ask an administrator to reset your factors."
    )]
    TooManyWrongCodes,
    /// A field of the request is malformed. The text names the field and what to send.
    #[error("{0}")]
    Malformed(&'static str),
    /// The user was deleted or is disabled.
    #[error("this account is disabled; an administrator of the tenant can enable it")]
    AccountDisabled,
    /// The tenant requires single sign-on.
    #[error("This tenant requires single sign-on. Sign in through its identity provider.")]
    SsoRequired,
    /// The tenant does not accept single sign-on.
    #[error("This tenant does not accept single sign-on. Sign in with your password.")]
    SsoNotAllowed,
    /// The session has ended.
    #[error("this session was ended; sign in again")]
    SessionRevoked,
    /// The session lacks a second factor.
    #[error("a second factor is owed: finish signing in first")]
    MfaRequired,
    /// The act requires a recent sign-in. The text says how recent.
    #[error("{0}")]
    SignInRequired(&'static str),
    /// The user already has the maximum number of factors.
    #[error("there are {max} factors; remove one first", max = credentials::MAX_FACTORS)]
    TooManyFactors,
    /// No user with this id.
    #[error("there is no such user")]
    UserNotFound,
    /// The tenant's network policy blocks the client's address.
    #[error("the network policy refuses the client's address")]
    NetworkBlocked(Box<NetworkBlocked>),
    /// Passkeys are unavailable because the server's address cannot be a relying party.
    #[error("passkeys need a base_url with the name of a host")]
    NoPasskeys,
    /// The state machine has no such step in this state.
    #[error("a step that this state of a sign-in does not have")]
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
