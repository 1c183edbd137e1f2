//! Verification of deliveries, for receivers.

use std::{error::Error, fmt};

use data_encoding::{BASE64, HEXLOWER};
use ring::hmac;

use crate::{PublicKey, public_key::message};

/// Maximum difference between a delivery's timestamp and the current time, in seconds.
pub const TOLERANCE: i64 = 300;

/// The reason a delivery is not valid. Do not tell the sender more: respond with 401 and the code
/// `WEBHOOK_INVALID_SIGNATURE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invalid {
    /// The timestamp is missing or not a finite number.
    Timestamp,
    /// The timestamp is more than [`TOLERANCE`] away from now: a replay, or a wrong clock.
    Stale,
    /// The signature is missing or matches none of the secrets.
    Signature,
    /// The signature is valid, but the body is not an event.
    Event,
}

// Written by hand, so that receivers depend on no macros.
impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timestamp => "the timestamp is missing or not a number",
            Self::Stale => "the timestamp differs from the current time by more than 300 seconds",
            Self::Signature => "the signature is missing or does not match",
            Self::Event => "the body is not an event",
        })
    }
}

impl Error for Invalid {}

/// The secrets that a receiver accepts: one, or two during a rotation.
///
/// Empty or short secrets are rejected when the receiver starts. If an unset variable counted as an empty secret,
/// anybody could sign.
///
/// ```
/// use webhooks::verify::{InvalidSecret, ReceiverSecrets};
///
/// assert!(ReceiverSecrets::new(["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="]).is_ok());
/// assert_eq!(ReceiverSecrets::new([""]).err(), Some(InvalidSecret::Malformed(1)));
/// assert_eq!(ReceiverSecrets::new([""; 0]).err(), Some(InvalidSecret::Missing));
/// ```
pub struct ReceiverSecrets(Vec<Keys>);

/// The keys of one secret.
struct Keys {
    /// The HMAC key of the whole text, for `X-Service-Signature`.
    service: hmac::Key,
    /// The HMAC key of the decoded bytes, for `webhook-signature`.
    standard: hmac::Key,
}

/// The reason a receiver's secrets are rejected. `Debug` writes the whole sentence, for a `main` that returns it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidSecret {
    /// No secret is given.
    Missing,
    /// The secret at this position, counted from 1, does not have the form in which it is shown when a webhook is
    /// created.
    Malformed(usize),
    /// The secret at this position, counted from 1, is too short.
    TooShort(usize),
}

impl fmt::Display for InvalidSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no signing secret"),
            Self::Malformed(position) => {
                write!(f, "signing secret {position} has to be whsec_ followed by base64")
            }
            Self::TooShort(position) => {
                let bytes = ReceiverSecrets::MIN_BYTES;
                write!(f, "signing secret {position} has to have at least {bytes} bytes")
            }
        }
    }
}

impl fmt::Debug for InvalidSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for InvalidSecret {}

/// The reason why an environment variable has no secrets. `Debug` writes the whole sentence, for a `main` that returns it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidVariable {
    /// The name of the variable.
    pub name: String,
    /// What is wrong with its value; `None` if it is not set, or not Unicode.
    pub problem: Option<InvalidSecret>,
}

impl fmt::Display for InvalidVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Some(problem) => write!(f, "{}: {problem}", self.name),
            None => write!(f, "{}: is not set", self.name),
        }
    }
}

impl fmt::Debug for InvalidVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for InvalidVariable {}

impl ReceiverSecrets {
    /// Minimum length of a secret in bytes, as Standard Webhooks requires. Gatehouse's have 32.
    pub const MIN_BYTES: usize = 24;

    /// Parses and validates secrets of the form `whsec_…`.
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Result<Self, InvalidSecret> {
        let read = |(index, secret): (usize, S)| {
            let position = index + 1;
            let text = secret.as_ref();
            let bytes = text.strip_prefix(PREFIX).and_then(|text| BASE64.decode(text.as_bytes()).ok());
            let bytes = bytes.ok_or(InvalidSecret::Malformed(position))?;
            if bytes.len() < Self::MIN_BYTES {
                return Err(InvalidSecret::TooShort(position));
            }
            Ok(Keys { service: key(text.as_bytes()), standard: key(&bytes) })
        };
        let keys = secrets.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() { Err(InvalidSecret::Missing) } else { Ok(Self(keys)) }
    }
}

/// Verifies a delivery by its headers `X-Service-Timestamp` and `X-Service-Signature`.
///
/// `body` is the received body, byte for byte; JSON that was parsed and serialized again may differ. `now` is the
/// time in seconds since 1970.
///
/// ```
/// use webhooks::verify::{Invalid, ReceiverSecrets, verify};
///
/// let secrets = ReceiverSecrets::new(["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="])?;
/// let signature = "v1=2ec19562065c6cdf8d0a3d6f355da2a2d26536926729ad1f7e5deac5b0e85675";
/// verify(&secrets, "1767225600", signature, b"{}", 1_767_225_600)?;
/// let changed = verify(&secrets, "1767225600", signature, b"{ }", 1_767_225_600);
/// assert_eq!(changed, Err(Invalid::Signature));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(
    secrets: &ReceiverSecrets,
    timestamp: &str,
    signature: &str,
    body: &[u8],
    now: i64,
) -> Result<(), Invalid> {
    fresh(timestamp, now)?;
    let tag = signature.strip_prefix("v1=").and_then(|hex| HEXLOWER.decode(hex.as_bytes()).ok());
    let tag = tag.ok_or(Invalid::Signature)?;
    let message = [timestamp.as_bytes(), b".", body].concat();
    let is_signed = |keys: &Keys| hmac::verify(&keys.service, &message, &tag).is_ok();
    if secrets.0.iter().any(is_signed) { Ok(()) } else { Err(Invalid::Signature) }
}

/// Verifies a delivery according to Standard Webhooks, by `webhook-id`, `webhook-timestamp` and `webhook-signature`.
/// The latter may contain several signatures.
pub fn verify_standard(
    secrets: &ReceiverSecrets,
    id: &str,
    timestamp: &str,
    signatures: &str,
    body: &[u8],
    now: i64,
) -> Result<(), Invalid> {
    fresh(timestamp, now)?;
    let message = message(id, timestamp, body);
    let tags = signatures.split(' ').filter_map(|signature| signature.strip_prefix("v1,"));
    let mut tags = tags.filter_map(|text| BASE64.decode(text.as_bytes()).ok());
    let is_signed = |keys: &Keys, tag: &[u8]| hmac::verify(&keys.standard, &message, tag).is_ok();
    let any = tags.any(|tag| secrets.0.iter().any(|keys| is_signed(keys, &tag)));
    if any { Ok(()) } else { Err(Invalid::Signature) }
}

/// The text is not a public key of a webhook: `whpk_` and 32 bytes in base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidPublicKey;

impl fmt::Display for InvalidPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a public key has to be whpk_ followed by 32 bytes in base64")
    }
}

impl Error for InvalidPublicKey {}

/// Verifies a delivery by the asymmetric signatures (`v1a`) in `webhook-signature`.
///
/// `keys` are the public keys of the webhook: one, or two during a rotation. Without any key, no delivery is valid.
///
/// ```
/// use webhooks::verify::{Invalid, verify_asymmetric};
///
/// let key = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".parse()?;
/// let verified = verify_asymmetric(&[key], "evt_1", "1767225600", "v1a,AAAA", b"{}", 1_767_225_600);
/// assert_eq!(verified, Err(Invalid::Signature));
/// # Ok::<(), webhooks::verify::InvalidPublicKey>(())
/// ```
pub fn verify_asymmetric(
    keys: &[PublicKey],
    id: &str,
    timestamp: &str,
    signatures: &str,
    body: &[u8],
    now: i64,
) -> Result<(), Invalid> {
    fresh(timestamp, now)?;
    let any = keys.iter().any(|key| key.has_signed(id, timestamp, signatures, body));
    if any { Ok(()) } else { Err(Invalid::Signature) }
}

/// The prefix of secrets.
pub(crate) const PREFIX: &str = "whsec_";

pub(crate) fn key(bytes: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, bytes)
}

fn fresh(timestamp: &str, now: i64) -> Result<(), Invalid> {
    let seconds: f64 = timestamp.parse().map_err(|_| Invalid::Timestamp)?;
    if !seconds.is_finite() {
        return Err(Invalid::Timestamp);
    }
    #[expect(clippy::cast_precision_loss, reason = "seconds of this age are far below 2^53")]
    let is_stale = (now as f64 - seconds).abs() > TOLERANCE as f64;
    if is_stale { Err(Invalid::Stale) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const OTHER: &str = "whsec_HwAAAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const NOW: i64 = 1_767_225_600;

    fn of(secrets: &[&str]) -> ReceiverSecrets {
        ReceiverSecrets::new(secrets).unwrap()
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (error, text) in [
            (InvalidSecret::Missing, "there is no signing secret"),
            (InvalidSecret::Malformed(2), "signing secret 2 has to be whsec_ followed by base64"),
            (InvalidSecret::TooShort(1), "signing secret 1 has to have at least 24 bytes"),
        ] {
            assert_eq!((error.to_string(), format!("{error:?}")), (text.to_owned(), text.to_owned()));
        }
        assert_eq!(Invalid::Signature.to_string(), "the signature is missing or does not match");
        assert!(InvalidPublicKey.to_string().contains("whpk_"));
    }

    #[test]
    fn guessable_secrets_are_refused() {
        // A signature made without knowledge of the secret.
        let forged = signed("", "1767225600", b"{}");
        let short = format!("{PREFIX}{}", BASE64.encode(&[7; 23]));
        for (secrets, expected) in [
            (&[][..], InvalidSecret::Missing),
            (&[""], InvalidSecret::Malformed(1)),
            (&[SECRET, ""], InvalidSecret::Malformed(2)),
            (&["hunter2"], InvalidSecret::Malformed(1)),
            (&["whsec_"], InvalidSecret::TooShort(1)),
            (&[short.as_str()], InvalidSecret::TooShort(1)),
        ] {
            assert_eq!(ReceiverSecrets::new(secrets).err(), Some(expected), "{secrets:?}");
        }
        let verified = verify(&of(&[SECRET]), "1767225600", &forged, b"{}", NOW);
        assert_eq!(verified, Err(Invalid::Signature));
    }

    fn signed(secret: &str, timestamp: &str, body: &[u8]) -> String {
        let message = [timestamp.as_bytes(), b".", body].concat();
        format!("v1={}", HEXLOWER.encode(hmac::sign(&key(secret.as_bytes()), &message).as_ref()))
    }

    #[test]
    fn signature_covers_body_and_timestamp() {
        let signature = signed(SECRET, "1767225600", b"{}");
        assert_eq!(verify(&of(&[SECRET]), "1767225600", &signature, b"{}", NOW), Ok(()));
        assert_eq!(verify(&of(&[OTHER, SECRET]), "1767225600", &signature, b"{}", NOW), Ok(()));
        for (secrets, timestamp, signature, body, now, expected) in [
            (&[OTHER][..], "1767225600", signature.as_str(), &b"{}"[..], NOW, Invalid::Signature),
            (&[SECRET], "1767225601", &signature, b"{}", NOW, Invalid::Signature),
            (&[SECRET], "1767225600", &signature, b"{} ", NOW, Invalid::Signature),
            (&[SECRET], "1767225600", &signature.to_uppercase(), b"{}", NOW, Invalid::Signature),
            (&[SECRET], "1767225600", &signature.replace("v1=", "v2="), b"{}", NOW, Invalid::Signature),
            (&[SECRET], "1767225600", "v1=", b"{}", NOW, Invalid::Signature),
            (&[SECRET], "1767225600", &signature, b"{}", NOW + 301, Invalid::Stale),
            (&[SECRET], "1767225600", &signature, b"{}", NOW - 301, Invalid::Stale),
            (&[SECRET], "inf", &signature, b"{}", NOW, Invalid::Timestamp),
            (&[SECRET], "NaN", &signature, b"{}", NOW, Invalid::Timestamp),
            (&[SECRET], "", &signature, b"{}", NOW, Invalid::Timestamp),
            (&[SECRET], "soon", &signature, b"{}", NOW, Invalid::Timestamp),
        ] {
            assert_eq!(
                verify(&of(secrets), timestamp, signature, body, now),
                Err(expected),
                "{timestamp} {signature}"
            );
        }
        assert_eq!(
            verify(&of(&[SECRET]), "1767225600", &signature, b"{}", NOW + 300),
            Ok(()),
            "the limit itself is allowed"
        );
    }

    #[test]
    fn any_of_several_standard_signatures_may_match() {
        let bytes = BASE64.decode(SECRET.trim_start_matches(PREFIX).as_bytes()).unwrap();
        let tag = BASE64.encode(hmac::sign(&key(&bytes), b"evt_1.1767225600.{}").as_ref());
        let alone = format!("v1,{tag}");
        let among = format!("v1a,abc v1,AAAA {alone}");
        for signatures in [&alone, &among] {
            assert_eq!(
                verify_standard(&of(&[SECRET]), "evt_1", "1767225600", signatures, b"{}", NOW),
                Ok(())
            );
        }
        for (id, signatures) in
            [("evt_2", alone.as_str()), ("evt_1", "v1,"), ("evt_1", tag.as_str()), ("evt_1", "")]
        {
            let verified = verify_standard(&of(&[SECRET]), id, "1767225600", signatures, b"{}", NOW);
            assert_eq!(verified, Err(Invalid::Signature), "{signatures}");
        }
    }
}
