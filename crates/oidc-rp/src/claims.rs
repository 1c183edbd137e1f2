//! Reads the claims of ID tokens (OpenID Connect Core, section 2).

use std::fmt;

use kernel::Timestamp;
use serde_json::{Map, Value};

use crate::refusal::{Reason, Refusal};

/// Maximum length of a subject (OpenID Connect Core, section 2).
const MAX_SUBJECT: usize = 255;
/// Maximum length of other identifiers.
const MAX_TEXT: usize = 1024;
/// Maximum number of audiences and of authentication methods.
const MAX_VALUES: usize = 20;
/// The largest number of seconds that a date may have: the year 9999.
const MAX_SECONDS: f64 = 253_402_300_799.0;

/// The claims of an ID token. Its `Debug` output has issuer and subject only.
#[derive(Clone, PartialEq)]
pub struct Claims {
    /// The issuer.
    pub issuer: String,
    /// The provider's identifier of the user, unique within the issuer and never reassigned.
    pub subject: String,
    /// The clients that the token is for.
    pub audiences: Vec<String>,
    /// The client that the token was issued to.
    pub authorized_party: Option<String>,
    /// When the token expires.
    pub expires_at: Timestamp,
    /// When the token was issued.
    pub issued_at: Timestamp,
    /// When the token becomes valid.
    pub not_before: Option<Timestamp>,
    /// When the user signed in at the provider.
    pub auth_time: Option<Timestamp>,
    /// The nonce of the request.
    pub nonce: Option<String>,
    /// The authentication context class.
    pub acr: Option<String>,
    /// The authentication methods (RFC 8176).
    pub amr: Vec<String>,
    /// The session at the provider, which a logout refers to.
    pub session: Option<String>,
    /// When a session that begins with this token ends, as the provider wants it (`session_expiry` of OpenID Connect
    /// Enterprise Extensions 1.0).
    pub session_ends: Option<Timestamp>,
    /// Hash of the access token.
    pub(crate) access_token_hash: Option<String>,
    /// Hash of the code.
    pub(crate) code_hash: Option<String>,
    /// All claims, also those that have a field here.
    pub all: Map<String, Value>,
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Claims");
        debug.field("issuer", &self.issuer).field("subject", &self.subject).finish_non_exhaustive()
    }
}

impl Claims {
    /// Reads the claims of a verified ID token. Fails if a claim is missing, has the wrong type or is out of bounds.
    pub(crate) fn read(all: Map<String, Value>) -> Result<Self, Refusal> {
        let claims = Reader(&all);
        let subject = claims.required("sub", Reader::text)?;
        if subject.len() > MAX_SUBJECT || !subject.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(malformed("sub", "at most 255 printable ASCII characters"));
        }
        if all.contains_key("events") {
            return Err(malformed("events", "absent: it belongs to a logout token or a security event"));
        }
        Ok(Self {
            issuer: claims.required("iss", Reader::text)?,
            subject,
            audiences: claims.required("aud", Reader::texts)?,
            authorized_party: claims.text("azp")?,
            expires_at: claims.required("exp", Reader::time)?,
            issued_at: claims.required("iat", Reader::time)?,
            not_before: claims.time("nbf")?,
            auth_time: claims.time("auth_time")?,
            nonce: claims.text("nonce")?,
            acr: claims.text("acr")?,
            amr: claims.texts("amr")?.unwrap_or_default(),
            session: claims.text("sid")?,
            session_ends: claims.time("session_expiry")?,
            access_token_hash: claims.text("at_hash")?,
            code_hash: claims.text("c_hash")?,
            all,
        })
    }
}

fn malformed(name: &str, expected: &str) -> Refusal {
    Refusal::new(Reason::ClaimMalformed, format!("{name} must be {expected}"))
}

/// Reads claims by their types.
pub(crate) struct Reader<'c>(pub(crate) &'c Map<String, Value>);

impl<'c> Reader<'c> {
    /// Returns a claim; `null` is the same as a missing claim.
    fn get(&self, name: &str) -> Option<&'c Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn required<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Self, &str) -> Result<Option<T>, Refusal>,
    ) -> Result<T, Refusal> {
        let missing = || Refusal::new(Reason::ClaimMissing, format!("{name} is missing"));
        read(self, name)?.ok_or_else(missing)
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if is_sound(text) => Ok(Some(text.clone())),
            Some(_) => Err(malformed(name, "a string of 1 to 1,024 bytes without control characters")),
        }
    }

    /// Reads a string or an array of strings.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Refusal> {
        let texts = match self.get(name) {
            None => return Ok(None),
            Some(Value::String(text)) => Some(vec![text.clone()]),
            Some(Value::Array(values)) if values.len() <= MAX_VALUES => {
                values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
            }
            Some(_) => None,
        };
        let sound = texts.filter(|texts| texts.iter().all(|text| is_sound(text)));
        sound.map(Some).ok_or_else(|| malformed(name, "a string or an array of at most 20 strings"))
    }

    /// Reads a date: seconds since 1970, possibly with a fraction (RFC 7519, section 2).
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
    pub(crate) fn time(&self, name: &str) -> Result<Option<Timestamp>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match value.as_f64() {
                Some(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => {
                    Ok(Some(Timestamp::from_unix_millis((seconds * 1000.0) as i64)))
                }
                _ => Err(malformed(name, "a number of seconds since 1970")),
            },
        }
    }
}

fn is_sound(text: &str) -> bool {
    (1..=MAX_TEXT).contains(&text.len()) && !text.chars().any(char::is_control)
}
