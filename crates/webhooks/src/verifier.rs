//! Verification of requests, for receivers.

use std::time::UNIX_EPOCH;

use http::HeaderMap;

use crate::verify::{Invalid, InvalidSecret, InvalidVariable, ReceiverSecrets, verify};

/// Verifies deliveries by the headers `X-Service-Timestamp` and `X-Service-Signature` of a request.
///
/// ```
/// use webhooks::{Verifier, verify::Invalid};
///
/// let verifier = Verifier::new(["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="])?;
/// let mut headers = http::HeaderMap::new();
/// headers.insert("x-service-timestamp", "1767225600".parse()?);
/// let signature = "v1=2ec19562065c6cdf8d0a3d6f355da2a2d26536926729ad1f7e5deac5b0e85675";
/// headers.insert("x-service-signature", signature.parse()?);
///
/// // At the time of the delivery, it is valid. Receivers call `verify`, which reads the clock: now it is a replay.
/// verifier.verify_at(&headers, b"{}", 1_767_225_600)?;
/// assert_eq!(verifier.verify(&headers, b"{}"), Err(Invalid::Stale));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Verifier(ReceiverSecrets);

impl Verifier {
    /// Accepts deliveries that are signed with one of these secrets: one, or two during a rotation.
    ///
    /// # Errors
    ///
    /// Without a secret, and for secrets that are empty, short or not of the form `whsec_…`.
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Result<Self, InvalidSecret> {
        ReceiverSecrets::new(secrets).map(Self)
    }

    /// Accepts deliveries that are signed with the secrets in an environment variable, separated by commas.
    ///
    /// # Errors
    ///
    /// As [`Verifier::new`], and if the variable is not set. The message has the name, and no part of the value.
    pub fn from_env(name: &str) -> Result<Self, InvalidVariable> {
        let wrong = |problem| InvalidVariable { name: name.to_owned(), problem };
        let secrets = std::env::var_os(name).and_then(|value| value.into_string().ok());
        let secrets = secrets.ok_or_else(|| wrong(None))?;
        Self::new(secrets.split(',')).map_err(|problem| wrong(Some(problem)))
    }

    /// Verifies a delivery that has just arrived. `body` is the received body, byte for byte.
    ///
    /// # Errors
    ///
    /// If a header is missing or repeated, the timestamp is more than 300 seconds away, or the signature does not match.
    /// Respond with 401 and do not tell the sender more.
    pub fn verify(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), Invalid> {
        // Before 1970, every delivery is stale.
        let now = UNIX_EPOCH.elapsed().map_or(0, |age| i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
        self.verify_at(headers, body, now)
    }

    /// Verifies a delivery that arrived at `now`, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// As [`Verifier::verify`].
    pub fn verify_at(&self, headers: &HeaderMap, body: &[u8], now: i64) -> Result<(), Invalid> {
        let timestamp = only(headers, "x-service-timestamp").ok_or(Invalid::Timestamp)?;
        let signature = only(headers, "x-service-signature").ok_or(Invalid::Signature)?;
        verify(&self.0, timestamp, signature, body, now)
    }
}

/// Returns the value of a header that occurs once.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_none() { first.to_str().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const SIGNATURE: &str = "v1=2ec19562065c6cdf8d0a3d6f355da2a2d26536926729ad1f7e5deac5b0e85675";
    const TIME: &str = "1767225600";

    #[test]
    fn each_header_is_needed_once() {
        let verifier = Verifier::new([SECRET]).unwrap();
        for (lines, expected) in [
            (&[("x-service-timestamp", TIME), ("x-service-signature", SIGNATURE)][..], Ok(())),
            (&[("x-service-timestamp", TIME)], Err(Invalid::Signature)),
            (&[("x-service-signature", SIGNATURE)], Err(Invalid::Timestamp)),
            (
                &[
                    ("x-service-timestamp", TIME),
                    ("x-service-signature", SIGNATURE),
                    ("x-service-signature", SIGNATURE),
                ],
                Err(Invalid::Signature),
            ),
            (
                &[
                    ("x-service-timestamp", TIME),
                    ("x-service-timestamp", TIME),
                    ("x-service-signature", SIGNATURE),
                ],
                Err(Invalid::Timestamp),
            ),
            (&[], Err(Invalid::Timestamp)),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.append(*name, value.parse().unwrap());
            }
            assert_eq!(verifier.verify_at(&headers, b"{}", 1_767_225_600), expected, "{lines:?}");
            assert!(verifier.verify_at(&headers, b"{}", 1_767_225_901).is_err());
        }
        assert_eq!(Verifier::new([""]).err(), Some(InvalidSecret::Malformed(1)));
    }

    #[test]
    fn variable_that_is_not_set_is_named() {
        let refused = Verifier::from_env("WEBHOOK_SECRET_THAT_NOBODY_SETS").err().unwrap();
        assert_eq!(refused.to_string(), "WEBHOOK_SECRET_THAT_NOBODY_SETS: is not set");
        let short = InvalidVariable { name: "SECRET".into(), problem: Some(InvalidSecret::Malformed(1)) };
        assert_eq!(format!("{short:?}"), "SECRET: signing secret 1 has to be whsec_ followed by base64");
    }

    #[test]
    fn a_delivery_of_long_ago_is_stale() {
        let mut headers = HeaderMap::new();
        headers.append("x-service-timestamp", TIME.parse().unwrap());
        headers.append("x-service-signature", SIGNATURE.parse().unwrap());
        assert_eq!(Verifier::new([SECRET]).unwrap().verify(&headers, b"{}"), Err(Invalid::Stale));
    }
}
