//! Errors of network policies.

use super::{code::Code, problem::Problem};

impl From<netpolicy::PreviewError> for Problem {
    fn from(error: netpolicy::PreviewError) -> Self {
        let code = match error {
            netpolicy::PreviewError::Cidr(..) => Code::InvalidCidr,
            _ => Code::InvalidRequest,
        };
        Self::new(code, error.to_string())
    }
}

impl From<netpolicy::Error> for Problem {
    fn from(error: netpolicy::Error) -> Self {
        use netpolicy::Error;
        match error {
            Error::Lockout => Self::new(Code::LockoutProtection, error.to_string()),
            Error::CallerNotCovered => {
                Self::new(Code::Conflict, error.to_string()).reason("CALLER_NOT_COVERED")
            }
            Error::Cidr(_) => Self::new(Code::InvalidCidr, format!("cidr: {error}")),
            Error::Duplicate(_) => {
                Self::new(Code::DuplicateCidr, format!("cidr: {error}; edit the existing rule"))
            }
            Error::TooMany => Self::new(Code::Conflict, error.to_string()),
            Error::NotFound => Self::not_found(),
            Error::Label => Self::invalid_request(format!("label: {error}")),
            Error::Store(error) => error.into(),
            other => Self::unexpected(other),
        }
    }
}
