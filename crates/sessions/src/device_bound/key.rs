//! Public keys of browsers.

use data_encoding::BASE64URL_NOPAD;
use ring::{
    digest,
    signature::{
        ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
    },
};
use serde::{Deserialize, Serialize};

/// Bytes of a coordinate on the curve P-256.
const COORDINATE: usize = 32;
/// Bytes of an RSA modulus: 2048 to 4096 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 256..=512;
/// Bytes of an RSA exponent.
const EXPONENT: std::ops::RangeInclusive<usize> = 1..=4;
/// First byte of an uncompressed point.
const UNCOMPRESSED: u8 = 4;

/// The public key of a browser. It is serialized as a JWK (RFC 7517) without optional members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Jwk", into = "Jwk")]
pub struct DeviceKey(Material);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    P256 { x: [u8; COORDINATE], y: [u8; COORDINATE] },
    Rsa { e: Vec<u8>, n: Vec<u8> },
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kty")]
enum Jwk {
    #[serde(rename = "EC")]
    Ec { crv: String, x: String, y: String },
    #[serde(rename = "RSA")]
    Rsa { e: String, n: String },
}

/// The key is neither on the curve P-256 nor an RSA key of 2048 to 4096 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a P-256 key or an RSA key of 2048 to 4096 bits")]
pub struct UnsupportedKey;

impl DeviceKey {
    /// Returns the JWS algorithm of the key: `ES256` or `RS256`.
    pub fn algorithm(&self) -> &'static str {
        match self.0 {
            Material::P256 { .. } => "ES256",
            Material::Rsa { .. } => "RS256",
        }
    }

    /// Returns the SHA-256 thumbprint (RFC 7638).
    pub fn thumbprint(&self) -> [u8; 32] {
        let text = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        let members = match &self.0 {
            Material::P256 { x, y } => {
                format!(r#"{{"crv":"P-256","kty":"EC","x":"{}","y":"{}"}}"#, text(x), text(y))
            }
            Material::Rsa { e, n } => format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, text(e), text(n)),
        };
        let mut thumbprint = [0; 32];
        thumbprint.copy_from_slice(digest::digest(&digest::SHA256, members.as_bytes()).as_ref());
        thumbprint
    }

    /// Returns whether the key signed the message.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.0 {
            Material::P256 { x, y } => {
                let point = [&[UNCOMPRESSED], &x[..], &y[..]].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
            Material::Rsa { e, n } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
        }
    }
}

fn bytes(text: &str) -> Result<Vec<u8>, UnsupportedKey> {
    BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| UnsupportedKey)
}

impl TryFrom<Jwk> for DeviceKey {
    type Error = UnsupportedKey;

    fn try_from(jwk: Jwk) -> Result<Self, UnsupportedKey> {
        let coordinate = |text: &str| bytes(text)?.try_into().map_err(|_| UnsupportedKey);
        Ok(Self(match jwk {
            Jwk::Ec { crv, x, y } if crv == "P-256" => {
                Material::P256 { x: coordinate(&x)?, y: coordinate(&y)? }
            }
            Jwk::Ec { .. } => return Err(UnsupportedKey),
            Jwk::Rsa { e, n } => {
                let (e, n) = (bytes(&e)?, bytes(&n)?);
                let fits = EXPONENT.contains(&e.len()) && MODULUS.contains(&n.len());
                // A leading zero would give one key several thumbprints.
                if !fits || e.first() == Some(&0) || n.first() == Some(&0) {
                    return Err(UnsupportedKey);
                }
                Material::Rsa { e, n }
            }
        }))
    }
}

impl From<DeviceKey> for Jwk {
    fn from(key: DeviceKey) -> Self {
        let text = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        match key.0 {
            Material::P256 { x, y } => Self::Ec { crv: "P-256".into(), x: text(&x), y: text(&y) },
            Material::Rsa { e, n } => Self::Rsa { e: text(&e), n: text(&n) },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The example of RFC 7638, section 3.1.
    const MODULUS_OF_RFC: &str = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tS\
        oc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaS\
        qzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw\
        0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";

    fn parsed(jwk: Value) -> Result<DeviceKey, serde_json::Error> {
        serde_json::from_value(jwk)
    }

    #[test]
    fn thumbprint_is_that_of_the_rfc() {
        let key = parsed(json!({ "kty": "RSA", "n": MODULUS_OF_RFC, "e": "AQAB", "alg": "RS256" })).unwrap();
        assert_eq!(BASE64URL_NOPAD.encode(&key.thumbprint()), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
        assert_eq!(parsed(serde_json::to_value(&key).unwrap()).unwrap(), key);
    }

    #[test]
    fn other_keys_are_refused() {
        let coordinate = BASE64URL_NOPAD.encode(&[1; 32]);
        let short = BASE64URL_NOPAD.encode(&[1; 31]);
        let padded = BASE64URL_NOPAD.encode(&[&[0][..], &[0xff; 256]].concat());
        for jwk in [
            json!({ "kty": "EC", "crv": "P-384", "x": coordinate, "y": coordinate }),
            json!({ "kty": "EC", "crv": "P-256", "x": coordinate, "y": short }),
            json!({ "kty": "EC", "crv": "P-256", "x": coordinate }),
            json!({ "kty": "oct", "k": coordinate }),
            json!({ "kty": "RSA", "n": coordinate, "e": "AQAB" }),
            json!({ "kty": "RSA", "n": padded, "e": "AQAB" }),
            json!({ "kty": "RSA", "n": MODULUS_OF_RFC, "e": "AAEAAQ" }),
            json!({ "kty": "RSA", "n": MODULUS_OF_RFC, "e": "" }),
            json!("EC"),
        ] {
            assert!(parsed(jwk.clone()).is_err(), "{jwk}");
        }
    }
}
