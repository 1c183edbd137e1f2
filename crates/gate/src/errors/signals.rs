//! Errors of shared signals.

use super::{code::Code, problem::Problem};

impl From<signals::Error> for Problem {
    fn from(error: signals::Error) -> Self {
        use signals::Error;
        match error {
            Error::Store(error) => error.into(),
            Error::NotFound | Error::NoStream | Error::NoTransmitter => Self::not_found(),
            Error::Key(error) => Self::unexpected(error),
            Error::TooMany | Error::TooManyTransmitters | Error::HasStream | Error::TooManySubjects => {
                Self::new(Code::Conflict, error.to_string())
            }
            Error::VerifiedJustNow(seconds) => Self::busy(&error.to_string(), seconds),
            Error::Disabled => Self::forbidden("RECEIVER_DISABLED", error.to_string()),
            _ => Self::invalid_request(error.to_string()),
        }
    }
}
