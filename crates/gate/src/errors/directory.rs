//! Errors of tenants and users.

use super::{code::Code, problem::Problem};

impl From<directory::Error> for Problem {
    fn from(error: directory::Error) -> Self {
        match error {
            directory::Error::Store(error) => error.into(),
            directory::Error::NotFound => Self::not_found(),
            directory::Error::LastAdmin => Self::new(Code::Conflict, error.to_string()).reason("LAST_ADMIN"),
            directory::Error::RoleUsed => Self::new(Code::Conflict, error.to_string()).reason("ROLE_USED"),
            directory::Error::TooManyRoles | directory::Error::TooManyRules => {
                Self::new(Code::Conflict, error.to_string())
            }
            directory::Error::MorePermissions => Self::forbidden("ROLE_REQUIRED", error.to_string()),
            directory::Error::RoleNameTaken(_)
            | directory::Error::RuleExists
            | directory::Error::EmailTaken(_)
            | directory::Error::SlugTaken(_) => Self::new(Code::Uniqueness, error.to_string()),
            _ => Self::invalid_request(error.to_string()),
        }
    }
}
