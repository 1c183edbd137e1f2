//! Errors of sign-in.

use super::{code::Code, problem::Problem};
use crate::{meter, network};

impl From<sign_in::LockoutError> for Problem {
    fn from(error: sign_in::LockoutError) -> Self {
        match error {
            sign_in::LockoutError::NoWayIn(_) => Self::new(Code::LockoutProtection, error.to_string()),
            sign_in::LockoutError::Store(error) => error.into(),
        }
    }
}

impl From<sign_in::removals::Error> for Problem {
    fn from(error: sign_in::removals::Error) -> Self {
        use sign_in::removals::Error;
        match error {
            Error::NotFound => Self::not_found(),
            Error::NotPaused => Self::new(Code::Conflict, error.to_string()).reason("NOT_PAUSED"),
            Error::Limit(_) => Self::invalid_request(error.to_string()),
            Error::Directory(error) => error.into(),
            Error::Store(error) => error.into(),
        }
    }
}

impl From<sign_in::Error> for Problem {
    fn from(error: sign_in::Error) -> Self {
        use sign_in::Error;
        let code = match error {
            Error::InvalidCredentials => Code::InvalidCredentials,
            Error::TicketInvalid => Code::TicketInvalid,
            Error::LinkInvalid => Code::LinkInvalid,
            Error::FactorInvalid => Code::FactorInvalid,
            Error::FactorNotAccepted | Error::TooManyWrongCodes | Error::RecoveryCodeNotAccepted => {
                Code::FactorNotPermitted
            }
            Error::Malformed(_) | Error::MalformedCredential(_) => Code::InvalidRequest,
            Error::SignInRequired(_) => Code::ReauthRequired,
            Error::TooManyFactors | Error::NoPasskeys => Code::Conflict,
            Error::AccountDisabled => return Self::account_disabled(),
            Error::SsoRequired => return Self::sso_required(),
            Error::SsoNotAllowed => return Self::sso_not_allowed(),
            Error::SessionRevoked => return Self::session_revoked(),
            Error::MfaRequired => return Self::mfa_required(),
            Error::UserNotFound => return Self::not_found(),
            Error::UserDisabled => Code::NotFound,
            Error::NetworkBlocked(blocked) => {
                return Self::sign_in_blocked().with_event_as(&blocked.ctx, blocked.event);
            }
            Error::OutOfOrder | Error::Internal(_) => return Self::unexpected(error),
            Error::Store(error) => return error.into(),
        };
        Self::new(code, error.to_string())
    }
}

impl From<sign_in::SetUpError> for Problem {
    fn from(error: sign_in::SetUpError) -> Self {
        match error {
            sign_in::SetUpError::LinkInvalid => Self::new(Code::LinkInvalid, error.to_string()),
            sign_in::SetUpError::Directory(error) => error.into(),
            sign_in::SetUpError::SignIn(error) => error.into(),
            sign_in::SetUpError::Store(error) => error.into(),
        }
    }
}

impl Problem {
    /// Creates the 403 of a sign-in that the network policy blocks, and counts it.
    pub fn sign_in_blocked() -> Self {
        meter::network_denied(netpolicy::Surface::SignIn.as_str());
        network::blocked()
    }
}
