//! Errors of step-up.

use super::{code::Code, problem::Problem};

impl From<stepup::Error> for Problem {
    fn from(error: stepup::Error) -> Self {
        match error {
            stepup::Error::Store(error) => error.into(),
            stepup::Error::Invalid(invalid) => Self::step_up_invalid(invalid),
            stepup::Error::Required(purpose) => Self::step_up_required(&purpose),
            stepup::Error::FactorInvalid => sign_in::Error::FactorInvalid.into(),
            stepup::Error::NoFactorAvailable(purpose) => Self::new(
                Code::NoFactorAvailable,
                format!(
                    "You have no factor that {purpose} accepts. Enrol a second factor at /account/security, or ask an \
                     administrator."
                ),
            ),
            stepup::Error::FactorNotPermitted(..) => Self::new(Code::FactorNotPermitted, error.to_string()),
            stepup::Error::ChallengeInvalid => Self::new(Code::TicketInvalid, error.to_string()),
            stepup::Error::AddressUnknown => Self::invalid_request(format!("address: {error}")),
            stepup::Error::Ceremony(cause) => match cause.downcast::<sign_in::Error>() {
                Ok(error) => (*error).into(),
                Err(cause) => Self::unexpected(cause),
            },
            other => Self::unexpected(other),
        }
    }
}
