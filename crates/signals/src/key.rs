//! Keys that sign security event tokens.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use kernel::{Secret, Timestamp};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Milliseconds that a replaced key stays in the key set, for receivers that still have its tokens.
pub const KEPT: i64 = 30 * 86_400_000;

/// Encrypts secrets for storage, each bound to its place.
pub trait SealSecret: Send + Sync {
    /// Encrypts a secret.
    fn seal(&self, place: &str, secret: &Secret<Vec<u8>>) -> Result<String, KeyError>;
    /// Decrypts a secret of the same place.
    fn open(&self, place: &str, sealed: &str) -> Result<Secret<Vec<u8>>, KeyError>;
}

/// A key or secret cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key of shared signals cannot be {0}")]
pub struct KeyError(pub &'static str);

/// A public key as a JSON Web Key (RFC 7517).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalsKey))]
pub struct Jwk {
    /// `RSA`.
    pub kty: String,
    /// `sig`.
    #[serde(rename = "use")]
    pub usage: String,
    /// `RS256`.
    pub alg: String,
    /// ID of the key: its thumbprint (RFC 7638).
    pub kid: String,
    /// Modulus, base64url.
    pub n: String,
    /// Exponent, base64url.
    pub e: String,
}

/// A stored key of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The public key.
    pub jwk: Jwk,
    /// The encrypted private key.
    pub sealed: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When another key replaced it, if one did.
    pub replaced_at: Option<Timestamp>,
}

impl StoredKey {
    /// Seals a new private key of at least 2,048 bits (PKCS#8 in DER).
    pub fn new(seal: &dyn SealSecret, private: &Secret<Vec<u8>>, now: Timestamp) -> Result<Self, KeyError> {
        let key = SigningKey::from_pkcs8(private)?;
        let sealed = seal.seal(&key.jwk.kid, private)?;
        Ok(Self { jwk: key.jwk, sealed, created_at: now, replaced_at: None })
    }

    /// Decrypts the private key.
    pub fn open(&self, seal: &dyn SealSecret) -> Result<SigningKey, KeyError> {
        SigningKey::from_pkcs8(&seal.open(&self.jwk.kid, &self.sealed)?)
    }

    /// Whether the key set contains it at this time.
    pub fn is_published(&self, now: Timestamp) -> bool {
        self.replaced_at.is_none_or(|at| now < at.plus_millis(KEPT))
    }
}

/// An RSA key that signs with RS256, as the CAEP interoperability profile requires.
pub struct SigningKey {
    key: RsaKeyPair,
    jwk: Jwk,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("kid", &self.jwk.kid).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads a key of at least 2,048 bits (PKCS#8 in DER).
    pub fn from_pkcs8(der: &Secret<Vec<u8>>) -> Result<Self, KeyError> {
        let key = RsaKeyPair::from_pkcs8(der.expose()).map_err(|_| KeyError("read"))?;
        let public: PublicKeyComponents<Vec<u8>> = key.public().into();
        let (n, e) = (BASE64URL_NOPAD.encode(&public.n), BASE64URL_NOPAD.encode(&public.e));
        // The members that RFC 7638 names, in its order.
        let canonical = format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#);
        let kid = BASE64URL_NOPAD.encode(digest(&SHA256, canonical.as_bytes()).as_ref());
        let jwk = Jwk { kty: "RSA".into(), usage: "sig".into(), alg: "RS256".into(), kid, n, e };
        Ok(Self { key, jwk })
    }

    /// Returns the public key.
    pub fn jwk(&self) -> &Jwk {
        &self.jwk
    }

    /// Signs claims as a security event token in compact serialization (RFC 8417, section 2.3).
    pub fn sign(&self, claims: &Value) -> Result<String, KeyError> {
        let header = json!({ "alg": "RS256", "kid": self.jwk.kid, "typ": "secevent+jwt" });
        let encode = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let signed = [encode(&header), encode(claims)].join(".");
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .map_err(|_| KeyError("used"))?;
        Ok([signed, BASE64URL_NOPAD.encode(&signature)].join("."))
    }
}
