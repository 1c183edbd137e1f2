//! Why a batch was not accepted.

use serde::{Deserialize, Serialize};

/// Maximum length of the excerpt of a response, in bytes.
const MAX_EXCERPT: usize = 500;

/// Why the last batch of a stream was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = LogStreamProblem))]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// `TIMEOUT`, `CONNECT`, `TLS`, `BLOCKED`, `TOO_LARGE` (an OTLP response of more than 64 KiB), `REFUSED` (a response
    /// other than success), `CLOSED` (a syslog receiver closed the connection), `KEY` (the secret cannot be decrypted),
    /// `SETTINGS` (the settings cannot be used), `DATABASE` (entries could not be read or recorded) or `LOG_ROLLED_BACK` (the stream has sent more entries than the log has).
    pub code: String,
    /// Status of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub status: Option<u16>,
    /// Beginning of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub response: Option<String>,
}

impl Problem {
    /// Creates a problem without a response.
    pub fn new(code: &str) -> Self {
        Self { code: code.to_owned(), status: None, response: None }
    }

    /// Creates the problem of a response.
    pub(crate) fn of_response(code: &str, status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body.get(..MAX_EXCERPT).unwrap_or(body));
        let text: String =
            text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
        let text = text.trim().to_owned();
        Self { code: code.to_owned(), status: Some(status), response: (!text.is_empty()).then_some(text) }
    }
}
