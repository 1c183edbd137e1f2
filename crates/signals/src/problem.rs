//! Why a token was not accepted.

use serde::{Deserialize, Serialize};

/// Maximum length of a text from a receiver, in characters.
const MAX_TEXT: usize = 300;

/// Why the last token of a stream was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalProblem))]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// `TIMEOUT`, `CONNECT`, `TLS`, `BLOCKED`, `REFUSED` (a response other than success), `KEY` (a key or secret cannot be
    /// decrypted) or `DATABASE` (events could not be read or recorded).
    pub code: String,
    /// Status of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub status: Option<u16>,
    /// The error code of the receiver (RFC 8935, section 2.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub error: Option<String>,
    /// The explanation of the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub description: Option<String>,
}

impl Problem {
    /// Creates a problem without a response.
    pub fn new(code: &str) -> Self {
        Self { code: code.to_owned(), status: None, error: None, description: None }
    }

    /// Creates the problem of a response other than success.
    pub(crate) fn of_response(status: u16, body: &[u8]) -> Self {
        let error: TokenError = serde_json::from_slice(body).unwrap_or_default();
        let refused = Self::of_refusal(&error);
        Self { status: Some(status), ..refused }
    }

    /// Creates the problem of a token that a receiver refuses in a poll.
    pub fn of_refusal(error: &TokenError) -> Self {
        let (error, description) =
            (error.err.as_deref().map(printable), error.description.as_deref().map(printable));
        Self { code: "REFUSED".to_owned(), status: None, error, description }
    }

    /// Whether the receiver will not accept the same token later: it cannot read it.
    pub(crate) fn is_final(&self) -> bool {
        self.status == Some(400) && self.error.as_deref() == Some("invalid_request")
    }
}

/// Returns the beginning of a text on one line.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(MAX_TEXT).collect()
}

/// Why a receiver does not accept a token (RFC 8935, section 2.3; RFC 8936, section 2.5).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalTokenError))]
pub struct TokenError {
    /// A registered code, such as `invalid_request` or `invalid_key`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub err: Option<String>,
    /// An explanation.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub description: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_receivers_are_read() {
        let body = br#"{"err":"invalid_key","description":"Key ID 12345\nhas been revoked."}"#;
        let problem = Problem::of_response(400, body);
        assert_eq!(problem.error.as_deref(), Some("invalid_key"));
        assert_eq!(problem.description.as_deref(), Some("Key ID 12345 has been revoked."));
        assert!(!problem.is_final());
        assert!(Problem::of_response(400, br#"{"err":"invalid_request"}"#).is_final());
        assert_eq!(Problem::of_response(502, b"<html>").error, None);
    }
}
