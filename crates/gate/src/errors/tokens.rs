//! Errors of tokens.

use super::{code::Code, problem::Problem};

impl From<tokens::PatError> for Problem {
    fn from(error: tokens::PatError) -> Self {
        match error {
            tokens::PatError::Store(error) => error.into(),
            tokens::PatError::NotFound => Self::not_found(),
            tokens::PatError::TooMany => Self::new(Code::Conflict, error.to_string()),
            _ => Self::invalid_request(error.to_string()),
        }
    }
}

impl From<tokens::ScimTokenError> for Problem {
    fn from(error: tokens::ScimTokenError) -> Self {
        match error {
            tokens::ScimTokenError::Store(error) => error.into(),
            tokens::ScimTokenError::NotFound => Self::not_found(),
            tokens::ScimTokenError::TooManyDryRuns => Self::new(Code::Conflict, error.to_string()),
            tokens::ScimTokenError::Name => Self::invalid_request(error.to_string()),
        }
    }
}
