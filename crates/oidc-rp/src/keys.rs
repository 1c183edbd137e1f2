//! The key set of an OpenID provider (JWKS, RFC 7517).

use data_encoding::BASE64URL_NOPAD;
use ring::signature::{RsaPublicKeyComponents, UnparsedPublicKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value, json};

use crate::{
    algorithm::{Algorithm, KeyKind, Verifier},
    json,
    refusal::{Reason, Refusal},
    text::printable,
};

/// Maximum size of a key set in bytes.
pub const MAX_KEY_SET: usize = 256 * 1024;
/// Maximum number of keys in a key set.
pub const MAX_KEYS: usize = 100;
/// Sizes of RSA moduli in bits.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The document is not a usable key set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the key set of the OpenID provider cannot be used: {0}")]
pub struct KeySetError(String);

/// The public keys that verify ID tokens, sorted, so that two sets with the same keys are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySet(Vec<Key>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    id: Option<String>,
    /// The only algorithm that the key may be used with, if the provider named one.
    algorithm: Option<Algorithm>,
    kind: KeyKind,
    material: Material,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    Point(Vec<u8>),
}

impl KeySet {
    /// Parses a key set of at most 256 KiB. Leaves out keys that cannot verify ID tokens: symmetric keys, keys for
    /// other algorithms, unknown curves, and RSA keys of fewer than 2,048 bits. Fails if no key remains.
    pub fn parse(text: &str) -> Result<Self, KeySetError> {
        let failed = |what: &str| KeySetError(printable(what));
        if text.len() > MAX_KEY_SET {
            return Err(failed("it is larger than 256 KiB"));
        }
        let set = json::object(text.as_bytes()).map_err(|error| failed(&error))?;
        let Some(Value::Array(keys)) = set.get("keys") else {
            return Err(failed("it has no array \"keys\""));
        };
        if keys.len() > MAX_KEYS {
            return Err(failed("it has more than 100 keys"));
        }
        let mut usable: Vec<Key> = keys.iter().filter_map(Value::as_object).filter_map(Key::read).collect();
        usable.sort();
        usable.dedup();
        if usable.is_empty() {
            return Err(failed("none of its keys can verify signatures"));
        }
        Ok(Self(usable))
    }

    /// Returns the number of usable keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there is no usable key. A parsed key set has at least one.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Verifies a signature with the key that the header names, or with the only key that fits the algorithm.
    pub(crate) fn verify(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
        signed: &[u8],
        signature: &[u8],
    ) -> Result<(), Refusal> {
        let fits = |key: &&Key| {
            key.kind == algorithm.key_kind() && key.algorithm.is_none_or(|only| only == algorithm)
        };
        let mut candidates = self.0.iter().filter(fits).filter(|key| id.is_none() || key.id.as_deref() == id);
        let Some(key) = candidates.next() else {
            let detail = match id {
                Some(id) => format!("the key set has no key {id:?} for {}", algorithm.as_str()),
                None => format!("the key set has no key for {}", algorithm.as_str()),
            };
            return Err(Refusal::new(Reason::UnknownKey, detail));
        };
        if candidates.next().is_some() {
            let detail =
                "the key set has several keys that fit, and the token does not say which one signed it";
            return Err(Refusal::new(Reason::AmbiguousKey, detail));
        }
        key.verify(algorithm, signed, signature)
    }
}

/// Writes the usable keys as a key set, without the members that are not needed.
impl Serialize for KeySet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({ "keys": self.0.iter().map(Key::jwk).collect::<Vec<_>>() }).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for KeySet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&Value::deserialize(deserializer)?.to_string()).map_err(de::Error::custom)
    }
}

impl Key {
    /// Reads a key; `None` if it cannot verify ID tokens.
    fn read(members: &Map<String, Value>) -> Option<Self> {
        let text = |name| members.get(name).and_then(Value::as_str);
        let is_text = |name| members.get(name).is_none_or(|value| value.is_string() || value.is_null());
        if !["kid", "use", "alg"].into_iter().all(is_text) || text("use").is_some_and(|of| of != "sig") {
            return None;
        }
        if let Some(operations) = members.get("key_ops") {
            operations.as_array()?.iter().find(|operation| *operation == "verify")?;
        }
        let algorithm = match text("alg") {
            Some(name) => Some(Algorithm::from_name(name)?),
            None => None,
        };
        let bytes = |name| BASE64URL_NOPAD.decode(text(name)?.as_bytes()).ok();
        let (kind, material) = match (text("kty")?, text("crv")) {
            ("RSA", None) => {
                // A number may have leading zeros here, and none in ring.
                let stripped = |number: Vec<u8>| -> Vec<u8> {
                    number.into_iter().skip_while(|byte| *byte == 0).collect()
                };
                let (modulus, exponent) = (stripped(bytes("n")?), stripped(bytes("e")?));
                let bits = modulus.len() * 8 - modulus.first()?.leading_zeros() as usize;
                // Exponents below 65,537 are obsolete (NIST SP 800-131A), and large ones cost CPU.
                let is_sound = RSA_BITS.contains(&bits) && exponent == [1, 0, 1];
                is_sound.then_some((KeyKind::Rsa, Material::Rsa { modulus, exponent }))?
            }
            ("EC", Some(curve)) => {
                let (kind, length) = match curve {
                    "P-256" => (KeyKind::P256, 32),
                    "P-384" => (KeyKind::P384, 48),
                    _ => return None,
                };
                let (x, y) = (bytes("x")?, bytes("y")?);
                let is_sound = x.len() == length && y.len() == length;
                is_sound.then(|| (kind, Material::Point([&[4], x.as_slice(), y.as_slice()].concat())))?
            }
            ("OKP", Some("Ed25519")) => {
                let point = bytes("x")?;
                (point.len() == 32).then_some((KeyKind::Ed25519, Material::Point(point)))?
            }
            _ => return None,
        };
        Some(Self { id: text("kid").map(str::to_owned), algorithm, kind, material })
    }

    fn jwk(&self) -> Value {
        let number = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        let curve = |curve: &str, point: &[u8]| {
            let (x, y) = point.get(1..).unwrap_or_default().split_at(point.len() / 2);
            json!({ "kty": "EC", "crv": curve, "x": number(x), "y": number(y) })
        };
        let mut jwk = match (&self.material, self.kind) {
            (Material::Rsa { modulus, exponent }, _) => {
                json!({ "kty": "RSA", "n": number(modulus), "e": number(exponent) })
            }
            (Material::Point(point), KeyKind::P384) => curve("P-384", point),
            (Material::Point(point), KeyKind::Ed25519) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": number(point) })
            }
            (Material::Point(point), _) => curve("P-256", point),
        };
        for (name, value) in [("kid", self.id.as_deref()), ("alg", self.algorithm.map(Algorithm::as_str))] {
            if let (Some(value), Value::Object(members)) = (value, &mut jwk) {
                members.insert(name.to_owned(), value.into());
            }
        }
        jwk
    }

    fn verify(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> Result<(), Refusal> {
        let verified = match (algorithm.verifier(), &self.material) {
            (Verifier::Rsa(parameters), Material::Rsa { modulus, exponent }) => {
                RsaPublicKeyComponents { n: modulus, e: exponent }.verify(parameters, signed, signature)
            }
            (Verifier::Point(algorithm), Material::Point(point)) => {
                UnparsedPublicKey::new(algorithm, point).verify(signed, signature)
            }
            // Unreachable: the kinds were compared before.
            (Verifier::Rsa(_), Material::Point(_)) | (Verifier::Point(_), Material::Rsa { .. }) => {
                Err(ring::error::Unspecified)
            }
        };
        let id = self.id.as_deref().unwrap_or_default();
        verified.map_err(|_| {
            Refusal::new(Reason::BadSignature, format!("the signature is not by the provider's key {id:?}"))
        })
    }
}
