//! Errors of sessions.

use super::problem::Problem;

impl From<sessions::Error> for Problem {
    fn from(error: sessions::Error) -> Self {
        match error {
            sessions::Error::Store(error) => error.into(),
            sessions::Error::NotFound => Self::not_found(),
        }
    }
}
