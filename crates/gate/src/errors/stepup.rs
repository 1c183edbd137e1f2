//! Errors of step-up.

use super::{code::Code, problem::Problem};

impl From<stepup::Error> for Problem {
    fn from(error: stepup::Error) -> Self {
        match error {
            stepup::Error::Store(error) => error.into(),
            stepup::Error::NoFactorAvailable(_) => Self::new(Code::NoFactorAvailable, error.to_string()),
            stepup::Error::FactorNotPermitted(..) => Self::new(Code::FactorNotPermitted, error.to_string()),
            stepup::Error::ChallengeInvalid => Self::new(Code::TicketInvalid, error.to_string()),
            stepup::Error::AddressUnknown => Self::invalid_request(format!("address: {error}")),
            stepup::Error::Ceremony(cause) => match cause.downcast::<sign_in::Error>() {
                Ok(error) => (*error).into(),
                Err(cause) => Self::unexpected(cause),
            },
            stepup::Error::NoKey => Self::unexpected(error),
        }
    }
}
