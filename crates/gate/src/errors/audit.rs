//! Errors of the audit log.

use audit::{InvalidParameter, SearchError, log::ProofError};

use super::{code::Code, problem::Problem};

impl From<InvalidParameter> for Problem {
    fn from(error: InvalidParameter) -> Self {
        Self::invalid_request(error.to_string())
    }
}

impl From<SearchError> for Problem {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Cursor => Self::invalid_cursor(),
            SearchError::Store(error) => error.into(),
            other => Self::unexpected(other),
        }
    }
}

impl From<ProofError> for Problem {
    fn from(error: ProofError) -> Self {
        match error {
            ProofError::NothingSealed | ProofError::NoEntry | ProofError::NoTile | ProofError::Purged => {
                Self::missing(error.to_string())
            }
            ProofError::NotSealed => Self::new(Code::NotSealed, error.to_string()),
            ProofError::Sizes(_) => Self::invalid_request(error.to_string()),
            ProofError::Store(error) => error.into(),
            other => Self::unexpected(other),
        }
    }
}
