//! `/api/me`

mod password;
mod people;
mod sessions;
mod tokens;
