//! An OpenID provider that signs tokens, valid and hostile, for tests.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]

pub mod fuzz;

use data_encoding::BASE64URL_NOPAD;
use kernel::{Secret, Timestamp};
use ring::{
    hmac,
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
        KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
        RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
    },
};
use serde_json::{Map, Value, json};

use crate::{Algorithm, ClientKey, Expected};

/// The issuer of the test provider.
pub const ISSUER: &str = "https://idp.example/tenant";
/// The client ID of its tokens.
pub const CLIENT: &str = "gatehouse-client";

/// A provider with one key for each kind of algorithm.
pub struct TestProvider {
    rsa: RsaKeyPair,
    foreign: RsaKeyPair,
    p256: EcdsaKeyPair,
    p384: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
}

/// Which key signs a token, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signer<'s> {
    /// The provider's key for this algorithm.
    Own(Algorithm),
    /// An RSA key that the key set does not contain, with RS256.
    Foreign,
    /// HMAC with SHA-256 and this secret, as in an algorithm confusion.
    Hmac(&'s [u8]),
    /// No signature.
    Nobody,
}

impl Default for TestProvider {
    fn default() -> Self {
        let random = SystemRandom::new();
        let ecdsa = |algorithm| {
            let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
            EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key")
        };
        let document = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
        Self {
            rsa: RsaKeyPair::from_pkcs8(include_bytes!("rsa-1.p8")).expect("a key"),
            foreign: RsaKeyPair::from_pkcs8(include_bytes!("rsa-2.p8")).expect("a key"),
            p256: ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING),
            p384: ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING),
            ed25519: Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key"),
        }
    }
}

impl TestProvider {
    /// Returns the public keys as JWKs, with the IDs `rsa`, `p256`, `p384` and `ed25519`.
    pub fn keys(&self) -> Vec<Value> {
        let number = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        let point = |key: &EcdsaKeyPair, curve: &str, id: &str| {
            let bytes = key.public_key().as_ref();
            let (x, y) = bytes.get(1..).unwrap_or_default().split_at(bytes.len() / 2);
            json!({ "kty": "EC", "crv": curve, "kid": id, "x": number(x), "y": number(y) })
        };
        vec![
            rsa_jwk(&self.rsa, "rsa"),
            point(&self.p256, "P-256", "p256"),
            point(&self.p384, "P-384", "p384"),
            json!({
                "kty": "OKP", "crv": "Ed25519", "kid": "ed25519",
                "x": number(self.ed25519.public_key().as_ref()),
            }),
        ]
    }

    /// Returns a key that is not in the key set, as a JWK with this ID.
    pub fn foreign_key(&self, id: &str) -> Value {
        rsa_jwk(&self.foreign, id)
    }

    /// Returns the key set as a document.
    pub fn key_set(&self) -> String {
        json!({ "keys": self.keys() }).to_string()
    }

    /// Returns the claims of a valid token for this nonce, issued at `now`.
    pub fn claims(&self, nonce: &str, now: Timestamp) -> Map<String, Value> {
        let seconds = now.unix_millis() / 1000;
        let claims = json!({
            "iss": ISSUER, "sub": "248289761001", "aud": CLIENT, "nonce": nonce,
            "iat": seconds, "exp": seconds + 300, "auth_time": seconds - 10,
            "email": "ada@example.com", "email_verified": true, "name": "Ada Lovelace",
        });
        claims.as_object().cloned().unwrap_or_default()
    }

    /// Signs a token for these claims with the provider's key.
    pub fn token(&self, algorithm: Algorithm, claims: &Map<String, Value>) -> String {
        let header = json!({ "alg": algorithm.as_str(), "kid": key_id(algorithm) }).to_string();
        let payload = Value::Object(claims.clone()).to_string();
        self.sign(Signer::Own(algorithm), header.as_bytes(), payload.as_bytes())
    }

    /// Signs any header and payload.
    pub fn sign(&self, signer: Signer<'_>, header: &[u8], payload: &[u8]) -> String {
        let signed = format!("{}.{}", BASE64URL_NOPAD.encode(header), BASE64URL_NOPAD.encode(payload));
        let signature = self.signature(signer, signed.as_bytes());
        format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
    }

    /// Signs bytes.
    pub fn signature(&self, signer: Signer<'_>, signed: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        let rsa = |key: &RsaKeyPair, padding: &'static dyn RsaEncoding| {
            let mut signature = vec![0; key.public().modulus_len()];
            key.sign(padding, &random, signed, &mut signature).expect("a signature");
            signature
        };
        match signer {
            Signer::Own(Algorithm::RS256) => rsa(&self.rsa, &RSA_PKCS1_SHA256),
            Signer::Own(Algorithm::RS384) => rsa(&self.rsa, &RSA_PKCS1_SHA384),
            Signer::Own(Algorithm::RS512) => rsa(&self.rsa, &RSA_PKCS1_SHA512),
            Signer::Own(Algorithm::PS256) => rsa(&self.rsa, &RSA_PSS_SHA256),
            Signer::Own(Algorithm::PS384) => rsa(&self.rsa, &RSA_PSS_SHA384),
            Signer::Own(Algorithm::PS512) => rsa(&self.rsa, &RSA_PSS_SHA512),
            Signer::Own(Algorithm::ES256) => {
                self.p256.sign(&random, signed).expect("a signature").as_ref().to_vec()
            }
            Signer::Own(Algorithm::ES384) => {
                self.p384.sign(&random, signed).expect("a signature").as_ref().to_vec()
            }
            Signer::Own(Algorithm::EdDSA) => self.ed25519.sign(signed).as_ref().to_vec(),
            Signer::Foreign => rsa(&self.foreign, &RSA_PKCS1_SHA256),
            Signer::Hmac(secret) => {
                hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed).as_ref().to_vec()
            }
            Signer::Nobody => Vec::new(),
        }
    }
}

/// Returns what the test provider's tokens match: any algorithm, a request of `now`, and `secret` as code and access token.
pub fn expected<'e>(nonce: &'e str, secret: &'e Secret<String>, now: Timestamp) -> Expected<'e> {
    Expected {
        issuer: ISSUER,
        client_id: CLIENT,
        algorithms: &Algorithm::ALL,
        nonce,
        requested_at: now,
        max_age: None,
        acr_values: &[],
        required_claims: &[],
        code: secret,
        access_token: secret,
        now,
    }
}

/// Returns the ID of the provider's key for an algorithm.
pub fn key_id(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::ES256 => "p256",
        Algorithm::ES384 => "p384",
        Algorithm::EdDSA => "ed25519",
        _ => "rsa",
    }
}

/// Returns a client's key for `private_key_jwt`.
pub fn client_key() -> ClientKey {
    ClientKey::from_pkcs8(&Secret::new(include_bytes!("rsa-2.p8").to_vec()), "client").expect("a key")
}

fn rsa_jwk(key: &RsaKeyPair, id: &str) -> Value {
    let public = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(key.public());
    json!({
        "kty": "RSA", "use": "sig", "kid": id,
        "n": BASE64URL_NOPAD.encode(&public.n), "e": BASE64URL_NOPAD.encode(&public.e),
    })
}
