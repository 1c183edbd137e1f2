//! For receivers: whether a delivery comes from whom it says it does.

use data_encoding::{BASE64, HEXLOWER};
use ring::hmac;

/// Seconds that a delivery may be old, or early by another clock.
pub const TOLERANCE: i64 = 300;

/// Why a delivery is not to be believed. Tell its sender nothing but that: 401 with the code
/// `WEBHOOK_INVALID_SIGNATURE` is the convention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The timestamp is not a finite number.
    #[error("the timestamp is not a number")]
    Timestamp,
    /// It is more than [`TOLERANCE`] away from now: recorded and sent again, or a clock is wrong.
    #[error("the timestamp is more than 300 seconds away from now")]
    Stale,
    /// No secret has signed it.
    #[error("the signature does not match")]
    Signature,
}

/// Verifies a delivery by `X-Service-Timestamp` and `X-Service-Signature`, as they were received.
///
/// `secrets` are `whsec_…` as they were shown; while one is being replaced, give both. `body` is what was received, byte
/// by byte: JSON that was read and written again is another body. `now` is the time in seconds since 1970.
///
/// ```
/// let secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// let signature = "v1=f1b4d4a1955aaa3ab2bb2ee2ab9d1293cb8d6f0a1c1a4b52a9c7b9d2ff3f2a3c";
/// let told = webhooks::verify::verify(&[secret], "1767225600", signature, b"{}", 1_767_225_600);
/// assert_eq!(told, Err(webhooks::verify::Invalid::Signature));
/// ```
pub fn verify(
    secrets: &[&str],
    timestamp: &str,
    signature: &str,
    body: &[u8],
    now: i64,
) -> Result<(), Invalid> {
    fresh(timestamp, now)?;
    let tag = signature.strip_prefix("v1=").and_then(|hex| HEXLOWER.decode(hex.as_bytes()).ok());
    let tag = tag.ok_or(Invalid::Signature)?;
    let message = [timestamp.as_bytes(), b".", body].concat();
    let by = |secret: &&str| hmac::verify(&key(secret.as_bytes()), &message, &tag).is_ok();
    if secrets.iter().any(by) { Ok(()) } else { Err(Invalid::Signature) }
}

/// Verifies a delivery as Standard Webhooks has it: by `webhook-id`, `webhook-timestamp` and `webhook-signature`, which
/// may hold several signatures.
pub fn verify_standard(
    secrets: &[&str],
    id: &str,
    timestamp: &str,
    signatures: &str,
    body: &[u8],
    now: i64,
) -> Result<(), Invalid> {
    fresh(timestamp, now)?;
    let message = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat();
    let by = |secret: &&str, tag: &[u8]| {
        let bytes = secret.strip_prefix(PREFIX).and_then(|text| BASE64.decode(text.as_bytes()).ok());
        bytes.is_some_and(|bytes| hmac::verify(&key(&bytes), &message, tag).is_ok())
    };
    let tags = signatures.split(' ').filter_map(|signature| signature.strip_prefix("v1,"));
    let mut tags = tags.filter_map(|text| BASE64.decode(text.as_bytes()).ok());
    let any = tags.any(|tag| secrets.iter().any(|secret| by(secret, &tag)));
    if any { Ok(()) } else { Err(Invalid::Signature) }
}

/// What a secret begins with.
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

    fn signed(secret: &str, timestamp: &str, body: &[u8]) -> String {
        let message = [timestamp.as_bytes(), b".", body].concat();
        format!("v1={}", HEXLOWER.encode(hmac::sign(&key(secret.as_bytes()), &message).as_ref()))
    }

    #[test]
    fn the_bytes_and_the_time_are_what_is_signed() {
        let signature = signed(SECRET, "1767225600", b"{}");
        assert_eq!(verify(&[SECRET], "1767225600", &signature, b"{}", NOW), Ok(()));
        assert_eq!(verify(&[OTHER, SECRET], "1767225600", &signature, b"{}", NOW), Ok(()));
        for (secrets, timestamp, signature, body, now, expected) in [
            (&[OTHER][..], "1767225600", signature.as_str(), &b"{}"[..], NOW, Invalid::Signature),
            (&[][..], "1767225600", &signature, b"{}", NOW, Invalid::Signature),
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
                verify(secrets, timestamp, signature, body, now),
                Err(expected),
                "{timestamp} {signature}"
            );
        }
        assert_eq!(verify(&[SECRET], "1767225600", &signature, b"{}", NOW + 300), Ok(()), "the edge is in");
    }

    #[test]
    fn several_standard_signatures_are_one_too_many_never() {
        let bytes = BASE64.decode(SECRET.trim_start_matches(PREFIX).as_bytes()).unwrap();
        let tag = BASE64.encode(hmac::sign(&key(&bytes), b"evt_1.1767225600.{}").as_ref());
        let alone = format!("v1,{tag}");
        let among = format!("v1a,abc v1,AAAA {alone}");
        for signatures in [&alone, &among] {
            assert_eq!(verify_standard(&[SECRET], "evt_1", "1767225600", signatures, b"{}", NOW), Ok(()));
        }
        for (id, signatures) in
            [("evt_2", alone.as_str()), ("evt_1", "v1,"), ("evt_1", tag.as_str()), ("evt_1", "")]
        {
            let told = verify_standard(&[SECRET], id, "1767225600", signatures, b"{}", NOW);
            assert_eq!(told, Err(Invalid::Signature), "{signatures}");
        }
    }
}
