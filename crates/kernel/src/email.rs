//! Email addresses that users sign in with.

use std::{fmt, str::FromStr};

/// An email address: exactly one `@` with text on both sides, no space or control character, at most 254 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Email(String);

/// The text is not a valid email address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write an email address such as ada@example.com")]
pub struct ParseEmailError;

impl Email {
    /// Returns the address as the user wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the key that addresses are compared by: ASCII letters in lower case, everything else unchanged.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Email {
    type Err = ParseEmailError;

    fn from_str(text: &str) -> Result<Self, ParseEmailError> {
        let odd = |c: char| c.is_whitespace() || c.is_control();
        match text.split_once('@') {
            Some((local, domain))
                if !local.is_empty()
                    && !domain.is_empty()
                    && !domain.contains('@')
                    && text.len() <= 254
                    && !text.chars().any(odd) =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => Err(ParseEmailError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_needs_text_on_both_sides() {
        assert!("ada@example.com".parse::<Email>().is_ok());
        assert!("ada+tag@münchen.example".parse::<Email>().is_ok());
        for text in ["", "ada", "@example.com", "ada@", "a b@example.com", "a@b@c", "a\u{0}@b"] {
            assert!(text.parse::<Email>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_ascii_letters_are_folded() {
        assert_eq!("Ada@Example.COM".parse::<Email>().unwrap().key(), "ada@example.com");
        assert_eq!("ÄDA@example.com".parse::<Email>().unwrap().key(), "Äda@example.com");
    }
}
