//! Errors of tenants and users.

use super::{code::Code, problem::Problem};

impl From<directory::Error> for Problem {
    fn from(error: directory::Error) -> Self {
        match error {
            directory::Error::Store(error) => error.into(),
            directory::Error::NotFound => Self::not_found(),
            directory::Error::LastAdmin => Self::new(Code::Conflict, error.to_string()).reason("LAST_ADMIN"),
            directory::Error::EmailTaken(_) | directory::Error::SlugTaken(_) => {
                Self::new(Code::Uniqueness, error.to_string())
            }
            _ => Self::invalid_request(error.to_string()),
        }
    }
}
