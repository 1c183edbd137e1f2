//! The bearer token of a client (RFC 6750).

use std::fmt;

use kernel::Secret;

use super::Answer;

/// The bearer token that the client of one tenant sends. It is compared in constant time and cannot be printed.
pub struct BearerToken(Secret<String>);

/// The reason why there is no bearer token. `Debug` writes the whole sentence, for a `main` that returns it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidBearerToken {
    /// It is shorter than [`BearerToken::MIN_LENGTH`] or has other characters (RFC 6750 §2.1).
    #[error("a bearer token has at least 32 of the characters A-Z a-z 0-9 - . _ ~ + / and may end in =")]
    Malformed,
    /// The environment variable with this name has no bearer token.
    #[error("{0}: {1}")]
    Variable(String, String),
}

impl fmt::Debug for InvalidBearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl BearerToken {
    /// Minimum number of characters, so that nobody can guess a random token.
    pub const MIN_LENGTH: usize = 32;

    /// Takes a token that you created. It must be random, for example of `openssl rand -base64 32`.
    ///
    /// # Errors
    ///
    /// [`InvalidBearerToken::Malformed`] if it is too short, or has a character that it must not have (RFC 6750 §2.1).
    pub fn new(token: impl Into<String>) -> Result<Self, InvalidBearerToken> {
        let token = Secret::new(token.into());
        let text = token.expose().trim_end_matches('=');
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
        if text.len() >= Self::MIN_LENGTH && text.bytes().all(is_valid) {
            Ok(Self(token))
        } else {
            Err(InvalidBearerToken::Malformed)
        }
    }

    /// Takes the token from the environment variable `name`.
    ///
    /// # Errors
    ///
    /// [`InvalidBearerToken::Variable`] if it is not set or not a token. The message contains the name, not the value.
    pub fn from_env(name: &str) -> Result<Self, InvalidBearerToken> {
        let wrong = |reason: &str| InvalidBearerToken::Variable(name.to_owned(), reason.to_owned());
        let token = std::env::var_os(name).ok_or_else(|| wrong("is not set"))?;
        // A token has only ASCII.
        let token = token.into_string().unwrap_or_default();
        Self::new(token).map_err(|error| wrong(&error.to_string()))
    }

    /// Checks the value of a request's header `Authorization`. The case of the scheme does not matter (RFC 9110 §11.1).
    ///
    /// # Errors
    ///
    /// [`Answer::unauthorized`], unless it is this token.
    pub fn check(&self, authorization: Option<&str>) -> Result<(), Answer> {
        let (scheme, token) = authorization.and_then(|value| value.split_once(' ')).unwrap_or_default();
        let is_this = scheme.eq_ignore_ascii_case("bearer") && self.0.matches(token.trim_start().as_bytes());
        if is_this { Ok(()) } else { Err(Answer::unauthorized()) }
    }
}
