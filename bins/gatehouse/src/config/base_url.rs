//! Reads `base_url`, the origin at which clients reach the server.

use super::Error;

/// Checks that a text is an origin.
pub(super) fn base_url(text: &str) -> Result<String, Error> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let origin = |rest: &str| !rest.is_empty() && !rest.contains(['/', '?', '#', '@', ' ', '"', '\\']);
    match rest {
        Some(rest) if origin(rest) && rest.is_ascii() => Ok(text.to_owned()),
        _ => Err(Error::of(
            "base_url",
            "write an origin without a final slash, such as https://gate.example.com",
        )),
    }
}
