//! Tokens.

use super::{code::Code, problem::Problem};

impl From<tokens::pat::Error> for Problem {
    fn from(error: tokens::pat::Error) -> Self {
        match error {
            tokens::pat::Error::Store(error) => error.into(),
            tokens::pat::Error::NotFound => Self::not_found(),
            tokens::pat::Error::TooMany => Self::new(Code::Conflict, error.to_string()),
            _ => Self::invalid_request(error.to_string()),
        }
    }
}

impl From<tokens::Error> for Problem {
    fn from(error: tokens::Error) -> Self {
        match error {
            tokens::Error::Store(error) => error.into(),
            tokens::Error::NotFound => Self::not_found(),
            tokens::Error::Name => Self::invalid_request(error.to_string()),
        }
    }
}
