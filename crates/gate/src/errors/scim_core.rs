//! Errors of SCIM.

use super::{code::Code, problem::Problem};

impl From<scim_core::Error> for Problem {
    fn from(error: scim_core::Error) -> Self {
        let (scim_type, message) = (error.scim_type(), error.to_string());
        let problem = match error {
            scim_core::Error::Store(error) => return error.into(),
            scim_core::Error::NotFound => Self::not_found(),
            scim_core::Error::Uniqueness { .. } => Self::new(Code::Conflict, ""),
            _ => Self::invalid_request(""),
        };
        Self { message, scim_type, ..problem }
    }
}
