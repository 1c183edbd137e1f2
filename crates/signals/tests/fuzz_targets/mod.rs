//! Fuzz targets: security event tokens as they arrive, and the claims of signed ones.

use std::sync::LazyLock;

use kernel::Timestamp;
use oidc_rp::{
    Algorithm, KeySet,
    conformance::{Signer, TestProvider},
};
use serde_json::{Value, json};
use signals::{Expected, ReceivedEvent, Refusal, verify};

const ISSUER: &str = "https://idp.example.com/";
const AUDIENCE: &str = "https://sp.example.com/caep";
/// The time of the tokens in the corpus: 2026-03-01 12:00:00 UTC.
const NOW_MILLIS: i64 = 1_772_366_400_000;

static FIXED: LazyLock<(TestProvider, KeySet)> = LazyLock::new(|| {
    let provider = TestProvider::default();
    let keys = KeySet::parse(&provider.key_set()).unwrap();
    (provider, keys)
});

fn received(token: &str) -> Result<ReceivedEvent, Refusal> {
    let now = Timestamp::from_unix_millis(NOW_MILLIS);
    verify(token, &FIXED.1, &Expected { issuer: ISSUER, audience: AUDIENCE, now })
}

/// Returns a valid token. Its signature is the same in each run.
pub(crate) fn genuine() -> String {
    let claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "jti": "a-token", "iat": NOW_MILLIS / 1000,
        "sub_id": { "format": "email", "email": "ada@example.com" },
        "events": { "https://schemas.openid.net/secevent/caep/event-type/session-revoked": {} },
    });
    let header = br#"{"alg":"RS256","kid":"rsa","typ":"secevent+jwt"}"#;
    FIXED.0.sign(Signer::Own(Algorithm::RS256), header, claims.to_string().as_bytes())
}

/// Verifies a token. Panics if any but the genuine one is accepted. Returns whether it was accepted.
pub(crate) fn set(input: &[u8]) -> bool {
    let Ok(token) = std::str::from_utf8(input) else { return false };
    let received = received(token);
    assert_eq!(received.is_ok(), token == genuine(), "{token:?}: {received:?}");
    received.is_ok()
}

/// Verifies a token with these claims, signed by the transmitter. Panics if it is accepted although another parser reads
/// other claims from its document. Returns whether it was accepted.
pub(crate) fn set_claims(input: &[u8]) -> bool {
    let header = br#"{"alg":"EdDSA","kid":"ed25519","typ":"secevent+jwt"}"#;
    let received = match received(&FIXED.0.sign(Signer::Own(Algorithm::EdDSA), header, input)) {
        Ok(received) => received,
        Err(refusal) => {
            assert!(refusal.detail.chars().count() <= 500 && !refusal.detail.chars().any(char::is_control));
            return false;
        }
    };
    let read: Value = serde_json::from_slice(input).unwrap();
    let is_for_us = |audience: &Value| audience == AUDIENCE;
    assert_eq!(read["iss"], ISSUER);
    assert!(is_for_us(&read["aud"]) || read["aud"].as_array().unwrap().iter().any(is_for_us));
    assert_eq!(read["jti"], received.jti.as_str());
    assert!(read.get("exp").is_none() && read.get("sub").is_none());
    let mut events = read["events"].as_object().unwrap().iter();
    let (event_type, payload) = events.next().unwrap();
    assert_eq!(
        (event_type, payload.as_object(), events.next()),
        (&received.event_type, Some(&received.payload), None)
    );
    assert!(received.issued_at <= Timestamp::from_unix_millis(NOW_MILLIS + 60_000));
    true
}
