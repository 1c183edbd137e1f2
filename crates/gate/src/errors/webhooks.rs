//! Errors of webhooks.

use super::{code::Code, problem::Problem};

impl From<webhooks::Error> for Problem {
    fn from(error: webhooks::Error) -> Self {
        match error {
            webhooks::Error::Store(error) => error.into(),
            webhooks::Error::NotFound => Self::not_found(),
            webhooks::Error::Key(error) => Self::unexpected(error),
            webhooks::Error::TooMany => Self::new(Code::Conflict, error.to_string()),
            webhooks::Error::Disabled => Self::new(Code::Conflict, error.to_string()).reason("DISABLED"),
            webhooks::Error::RotationUnderWay => {
                Self::new(Code::Conflict, error.to_string()).reason("ROTATION_UNDER_WAY")
            }
            webhooks::Error::NoRotation => Self::new(Code::Conflict, error.to_string()).reason("NO_ROTATION"),
            _ => Self::invalid_request(error.to_string()),
        }
    }
}
