//! Errors of log streams.

use super::{code::Code, problem::Problem};

impl From<log_streams::Error> for Problem {
    fn from(error: log_streams::Error) -> Self {
        match error {
            log_streams::Error::Store(error) => error.into(),
            log_streams::Error::NotFound => Self::not_found(),
            log_streams::Error::Key(error) => Self::unexpected(error),
            log_streams::Error::TooMany => Self::new(Code::Conflict, error.to_string()),
            _ => Self::invalid_request(error.to_string()),
        }
    }
}
