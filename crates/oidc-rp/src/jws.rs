//! Signed JWTs in compact serialization (RFC 7515, RFC 7519).

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Map, Value};

use crate::{
    algorithm::Algorithm,
    json,
    keys::KeySet,
    refusal::{Reason, Refusal},
};

/// Maximum length of a token in bytes.
pub const MAX_TOKEN: usize = 64 * 1024;
/// Maximum length of a key ID.
const MAX_KEY_ID: usize = 256;

/// Data signed by a key of the provider, or derived only from such data.
///
/// Only this module creates one from bytes. Values read from it stay wrapped, so claims can come only from signed data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified<T>(T);

impl<T> Verified<T> {
    /// Returns the verified data.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// Derives a value from the verified data.
    pub(crate) fn read<U>(self, read: impl FnOnce(T) -> Result<U, Refusal>) -> Result<Verified<U>, Refusal> {
        read(self.0).map(Verified)
    }
}

/// A token in the form of a signed JWT. Its payload cannot be read before its signature is verified.
pub(crate) struct SignedToken<'t> {
    /// Header and payload, as they were signed.
    signed: &'t str,
    payload: Vec<u8>,
    signature: Vec<u8>,
    algorithm: String,
    key_id: Option<String>,
    /// Whether the header says which type of token it is.
    is_typed: bool,
}

/// The claims of a token, and the algorithm of its signature.
pub(crate) struct SignedClaims {
    pub(crate) algorithm: Algorithm,
    pub(crate) members: Map<String, Value>,
}

impl<'t> SignedToken<'t> {
    /// Takes a token apart and checks its header, which may omit its type or have one of `types`.
    pub(crate) fn parse(token: &'t str, types: &[&str]) -> Result<Self, Refusal> {
        if token.len() > MAX_TOKEN {
            return Err(Refusal::new(Reason::TooLarge, "the token is longer than 64 KiB"));
        }
        let parts: Vec<_> = token.split('.').collect();
        let [header, payload, signature] = parts.as_slice() else {
            let form = if parts.len() == 5 { "is encrypted" } else { "does not have three parts" };
            return Err(Refusal::new(Reason::NotSigned, format!("the token {form}")));
        };
        let members = json::object(&decode("header", header)?)
            .map_err(|error| Refusal::new(Reason::HeaderNotJson, format!("the header: {error}")))?;
        let (payload, signature) = (decode("payload", payload)?, decode("signature", signature)?);
        let text = |name: &str| match members.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Refusal::new(Reason::Header, format!("{name} in the header is not a string"))),
        };
        if members.contains_key("crit") || members.contains_key("b64") {
            return Err(Refusal::new(
                Reason::Critical,
                "the header has crit or b64, which are not supported",
            ));
        }
        if ["enc", "zip", "cty"].into_iter().any(|name| members.contains_key(name)) {
            let detail = "the header has enc, zip or cty: the token is encrypted, compressed or nested";
            return Err(Refusal::new(Reason::NotSigned, detail));
        }
        let token_type = text("typ")?;
        if let Some(found) = token_type.as_ref().filter(|found| !types.iter().any(|one| is_type(found, one)))
        {
            let detail = format!("typ in the header is {found:?}, not {}", types.join(" or "));
            return Err(Refusal::new(Reason::TokenType, detail));
        }
        let key_id = text("kid")?;
        if key_id.as_ref().is_some_and(|id| id.len() > MAX_KEY_ID) {
            return Err(Refusal::new(Reason::Header, "kid in the header is longer than 256 bytes"));
        }
        let Some(algorithm) = text("alg")? else {
            return Err(Refusal::new(Reason::Header, "alg is missing in the header"));
        };
        let signed = token.rsplit_once('.').map_or(token, |(signed, _)| signed);
        Ok(Self { signed, payload, signature, algorithm, key_id, is_typed: token_type.is_some() })
    }

    /// Verifies the signature and returns the algorithm and the claims.
    pub(crate) fn verify(
        self,
        keys: &KeySet,
        allowed: &[Algorithm],
    ) -> Result<Verified<SignedClaims>, Refusal> {
        let algorithm = Algorithm::from_name(&self.algorithm).filter(|algorithm| allowed.contains(algorithm));
        let Some(algorithm) = algorithm else {
            let names: Vec<_> = allowed.iter().map(|algorithm| algorithm.as_str()).collect();
            let detail = format!("the token has alg {:?}; allowed are {}", self.algorithm, names.join(", "));
            return Err(Refusal::new(Reason::Algorithm, detail));
        };
        keys.verify(algorithm, self.key_id.as_deref(), self.signed.as_bytes(), &self.signature)?;
        let members = json::object(&self.payload)
            .map_err(|error| Refusal::new(Reason::ClaimsNotJson, format!("the payload: {error}")))?;
        Ok(Verified(SignedClaims { algorithm, members }))
    }
}

/// Verifies a signed JWT whose header must name `token_type`, such as a security event token, and returns its claims. Only
/// the form and the signature are checked: who issued the token, for whom and when is for the caller to compare.
pub fn verify_typed(
    token: &str,
    token_type: &str,
    keys: &KeySet,
    allowed: &[Algorithm],
) -> Result<Verified<Map<String, Value>>, Refusal> {
    let token = SignedToken::parse(token, &[token_type])?;
    if !token.is_typed {
        let detail = format!("typ is missing in the header; expected is {token_type}");
        return Err(Refusal::new(Reason::TokenType, detail));
    }
    token.verify(keys, allowed)?.read(|signed| Ok(signed.members))
}

/// Compares media types of tokens: case is ignored, and `application/` may be omitted (RFC 7515, section 4.1.9).
fn is_type(found: &str, expected: &str) -> bool {
    let found = found.to_ascii_lowercase();
    found.strip_prefix("application/").unwrap_or(&found) == expected.to_ascii_lowercase()
}

fn decode(part: &str, text: &str) -> Result<Vec<u8>, Refusal> {
    let failed = |_| Refusal::new(Reason::NotBase64, format!("the {part} is not base64url without padding"));
    BASE64URL_NOPAD.decode(text.as_bytes()).map_err(failed)
}
