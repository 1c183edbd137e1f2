//! Errors of single sign-on.

use super::{code::Code, problem::Problem};

impl From<saml_sp::ProviderError> for Problem {
    fn from(error: saml_sp::ProviderError) -> Self {
        use saml_sp::ProviderError as Error;
        let conflict = |reason| Self::new(Code::Conflict, error.to_string()).reason(reason);
        match error {
            Error::Store(error) => error.into(),
            Error::NotFound => Self::not_found(),
            Error::Key(error) => Self::unexpected(error),
            Error::TooMany => Self::new(Code::Conflict, error.to_string()),
            Error::DomainTaken(_) => conflict("DOMAIN_TAKEN"),
            Error::RotationUnderWay => conflict("ROTATION_UNDER_WAY"),
            Error::NoRotation => conflict("NO_ROTATION"),
            Error::Field { .. } => Self::invalid_request(error.to_string()),
        }
    }
}

impl From<saml_sp::DomainError> for Problem {
    fn from(error: saml_sp::DomainError) -> Self {
        match error {
            saml_sp::DomainError::Store(error) => error.into(),
            saml_sp::DomainError::NotFound(_) => Self::not_found(),
            saml_sp::DomainError::Taken(_) => {
                Self::new(Code::Conflict, error.to_string()).reason("DOMAIN_TAKEN")
            }
        }
    }
}
