//! A transmitter that signs tokens, valid and hostile.

use kernel::Timestamp;
use oidc_rp::{
    Algorithm, KeySet,
    conformance::{Signer, TestProvider, key_id},
};
use serde_json::{Value, json};
use signals::{Expected, ReceivedEvent, Refusal, verify};

pub(crate) const ISSUER: &str = "https://idp.example.com/";
pub(crate) const AUDIENCE: &str = "https://sp.example.com/caep";
/// The type of the event in [`claims`].
pub(crate) const SESSION_REVOKED: &str =
    "https://schemas.openid.net/secevent/caep/event-type/session-revoked";

pub(crate) fn now() -> Timestamp {
    "2026-03-01T12:00:00.000Z".parse().unwrap()
}

/// Returns seconds since 1970, counted from [`now`].
pub(crate) fn seconds(from_now: i64) -> i64 {
    now().unix_millis() / 1000 + from_now
}

/// Returns the claims of a valid token.
pub(crate) fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "jti": "a-token", "iat": seconds(-5), "txn": "a-cause",
        "sub_id": {
            "format": "complex",
            "user": { "format": "iss_sub", "iss": ISSUER, "sub": "248289761001" },
            "session": { "format": "opaque", "id": "a-session" },
        },
        "events": {
            SESSION_REVOKED: { "event_timestamp": seconds(-10), "reason_admin": { "en": "Policy" } },
        },
    })
}

pub(crate) struct Transmitter {
    pub(crate) provider: TestProvider,
    pub(crate) keys: KeySet,
}

impl Transmitter {
    pub(crate) fn new() -> Self {
        let provider = TestProvider::default();
        let keys = KeySet::parse(&provider.key_set()).unwrap();
        Self { provider, keys }
    }

    /// Signs claims with the usual header.
    pub(crate) fn token(&self, algorithm: Algorithm, claims: &Value) -> String {
        let header = json!({ "alg": algorithm.as_str(), "kid": key_id(algorithm), "typ": "secevent+jwt" });
        self.sign(algorithm, &header, claims.to_string().as_bytes())
    }

    pub(crate) fn sign(&self, algorithm: Algorithm, header: &Value, payload: &[u8]) -> String {
        self.provider.sign(Signer::Own(algorithm), header.to_string().as_bytes(), payload)
    }

    /// Verifies a token as the receiver does.
    pub(crate) fn verify(&self, token: &str) -> Result<ReceivedEvent, Refusal> {
        verify(token, &self.keys, &Expected { issuer: ISSUER, audience: AUDIENCE, now: now() })
    }

    /// Signs claims and verifies the token.
    pub(crate) fn receive(&self, claims: &Value) -> Result<ReceivedEvent, Refusal> {
        self.verify(&self.token(Algorithm::ES256, claims))
    }
}
