//! Errors of the attestation policy.

use super::problem::Problem;

impl From<attestation::Error> for Problem {
    fn from(error: attestation::Error) -> Self {
        match error {
            attestation::Error::TooMany => Self::invalid_request(format!("allowedAaguids: {error}")),
            attestation::Error::Store(error) => error.into(),
            other => Self::unexpected(other),
        }
    }
}
