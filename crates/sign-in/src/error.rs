//! Why a sign-in does not go on.

use audit::Event;
use kernel::{Ctx, StoreError};

/// Why a sign-in does not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Alike for an unknown address, a wrong password and a password that was changed meanwhile.
    #[error("the e-mail address or the password is wrong")]
    InvalidCredentials,
    /// The ticket is unknown, over, used, of another step, or had too many wrong answers.
    #[error("this sign-in has taken too long or was finished already; begin again")]
    TicketInvalid,
    /// The link is unknown, over, used, or was made for another address or role.
    #[error(
        "this link was used, has ended, or is no longer valid for this account; ask an administrator for another"
    )]
    LinkInvalid,
    /// The code or assertion proves nothing.
    #[error("this is not a code or passkey that is good now; try again")]
    FactorInvalid,
    /// The tenant does not accept the factor, and the user has one that it accepts.
    #[error("this tenant does not accept that factor; use another of yours")]
    FactorNotAccepted,
    /// The account takes no codes until its user signs in with a passkey, or an administrator resets its factors.
    #[error(
        "Too many incorrect codes in a row. Use a passkey, or ask an administrator to reset your factors."
    )]
    TooManyWrongCodes,
    /// A field of the request is malformed: its name, and what to send.
    #[error("{0}")]
    Malformed(&'static str),
    /// The user is gone or may not sign in.
    #[error("this account is disabled; an administrator of the tenant can enable it")]
    AccountDisabled,
    /// The tenant accepts identity providers alone.
    #[error("This tenant requires single sign-on. Sign in through its identity provider.")]
    SsoRequired,
    /// The tenant accepts no identity provider.
    #[error("This tenant does not accept single sign-on. Sign in with your password.")]
    SsoNotAllowed,
    /// The session was ended.
    #[error("this session was ended; sign in again")]
    SessionRevoked,
    /// The session owes a second factor.
    #[error("a second factor is owed: finish signing in first")]
    MfaRequired,
    /// The act has to follow a sign-in: how soon.
    #[error("{0}")]
    SignInRequired(&'static str),
    /// The user has as many factors as there may be.
    #[error("there are {max} factors; remove one first", max = credentials::MAX_FACTORS)]
    TooManyFactors,
    /// No user with this id.
    #[error("there is no such user")]
    UserNotFound,
    /// The tenant's network policy refuses the client's address.
    #[error("the network policy refuses the client's address")]
    NetworkBlocked(Box<NetworkBlocked>),
    /// There is no relying party for passkeys.
    #[error("passkeys need a base_url with the name of a host")]
    NoPasskeys,
    /// The state machine has no such step here.
    #[error("a step that this state of a sign-in does not have")]
    OutOfOrder,
    /// What should not happen, such as a secret that no key opens: the text is for the log alone.
    #[error("{0}")]
    Internal(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A sign-in that the network policy refuses. The unit of work is rolled back, so whoever runs it writes the entry.
pub struct NetworkBlocked {
    /// As whom, and where.
    pub ctx: Ctx,
    /// The audit entry.
    pub event: Event,
}

impl std::fmt::Debug for NetworkBlocked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocked").field("event", &self.event).finish_non_exhaustive()
    }
}

impl Error {
    /// [`Error::Internal`] with this cause.
    pub(crate) fn internal(cause: impl std::fmt::Display) -> Self {
        Self::Internal(cause.to_string())
    }
}
