//! Fuzz targets: ID tokens as they arrive, and the claims of signed ID tokens.

use std::sync::LazyLock;

use kernel::{Secret, Timestamp};

use super::{CLIENT, ISSUER, Signer, TestProvider, expected};
use crate::{Algorithm, Examined, KeySet, examine};

/// The time of the tokens in the corpus: 2026-03-01 12:00:00 UTC.
const NOW_MILLIS: i64 = 1_772_366_400_000;
/// The nonce of the tokens in the corpus.
const NONCE: &str = "nonce";

static FIXED: LazyLock<(TestProvider, KeySet)> = LazyLock::new(|| {
    let provider = TestProvider::default();
    let keys = KeySet::parse(&provider.key_set()).expect("a key set");
    (provider, keys)
});

fn examined(token: &str) -> Examined {
    let (now, secret) = (Timestamp::from_unix_millis(NOW_MILLIS), Secret::new("unused".to_owned()));
    examine(token, &FIXED.1, &expected(NONCE, &secret, now))
}

/// Returns a valid token, for seeding the fuzzer. Its signature is the same in each run.
pub fn genuine() -> String {
    let claims = FIXED.0.claims(NONCE, Timestamp::from_unix_millis(NOW_MILLIS));
    FIXED.0.token(Algorithm::RS256, &claims)
}

/// Examines a token. Panics if any but the genuine one is accepted. Returns whether it was accepted.
pub fn id_token(input: &[u8]) -> bool {
    let Ok(token) = std::str::from_utf8(input) else { return false };
    let examined = examined(token);
    assert_eq!(examined.shown_claims().is_some(), token == genuine(), "{token:?}: {examined:?}");
    examined.refusal.is_none()
}

/// Examines a token with these claims, signed by the provider. Panics if it is accepted although its document has another
/// issuer, audience, nonce or subject. Returns whether it was accepted.
pub fn claims(input: &[u8]) -> bool {
    let token = FIXED.0.sign(Signer::Own(Algorithm::EdDSA), br#"{"alg":"EdDSA","kid":"ed25519"}"#, input);
    let examined = examined(&token);
    let Ok(accepted) = examined.into_result() else { return false };
    let read: serde_json::Value = serde_json::from_slice(input).expect("JSON");
    let of = |name: &str| read.get(name).and_then(|value| value.as_str());
    assert_eq!((of("iss"), of("nonce")), (Some(ISSUER), Some(NONCE)));
    let is_for_us = of("aud") == Some(CLIENT) || read.get("aud") == Some(&serde_json::json!([CLIENT]));
    assert!(is_for_us && of("sub") == Some(&accepted.get().subject));
    true
}
