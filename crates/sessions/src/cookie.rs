//! The session cookie of Auth.js v5: its names, chunks and claims.

use kernel::{Env, Secret, Timestamp};
use ring::digest;
use serde_json::{Map, Value};

use crate::jwe::{self, Key};

/// Maximum length of a cookie value before Auth.js splits it: 4,096 minus the reserve for name and attributes.
const CHUNK: usize = 4096 - 160;
/// Maximum number of chunks that are read. Request headers cannot contain more.
const CHUNKS: usize = 32;
/// Permitted clock difference in seconds for `exp`, the same as in Auth.js.
const TOLERANCE_SECONDS: i64 = 15;
/// Permitted clock difference in seconds for `iat` and `nbf`.
const AHEAD_SECONDS: i64 = 60;

/// The two names of the cookie. The key is derived from the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CookieName {
    /// `authjs.session-token`
    Plain,
    /// `__Secure-authjs.session-token`, which browsers accept only over HTTPS.
    Secure,
}

impl CookieName {
    /// Both names, without and with the `__Secure-` prefix.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Secure];

    /// Returns the name in the header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "authjs.session-token",
            Self::Secure => "__Secure-authjs.session-token",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Plain => Self::Secure,
            Self::Secure => Self::Plain,
        }
    }
}

/// The claims of a valid token.
#[derive(Debug, Clone, PartialEq)]
pub struct Claims {
    members: Map<String, Value>,
    /// SHA-256 of the whole token.
    pub token_hash: [u8; 32],
    /// When it was issued.
    pub issued_at: Timestamp,
}

impl Claims {
    /// Returns a claim that is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str)
    }

    /// Returns all claims.
    pub fn members(&self) -> &Map<String, Value> {
        &self.members
    }
}

/// The session cookie is invalid: not encrypted with a known secret, expired, or not valid yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session cookie is invalid")]
pub struct NotASession;

/// A secret that session cookies are encrypted with.
#[derive(Clone)]
pub struct CookieSecret(Secret<String>);

/// The secret is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cookie secret needs at least {} characters", CookieSecret::MIN_CHARACTERS)]
pub struct ShortSecret;

impl CookieSecret {
    /// Minimum number of characters of a secret.
    pub const MIN_CHARACTERS: usize = 32;

    /// Validates a secret.
    ///
    /// ```
    /// use sessions::{CookieSecret, ShortSecret};
    ///
    /// assert_eq!(CookieSecret::new(String::new()).err(), Some(ShortSecret));
    /// ```
    pub fn new(secret: String) -> Result<Self, ShortSecret> {
        let secret = Secret::new(secret);
        let is_long = secret.expose().chars().count() >= Self::MIN_CHARACTERS;
        if is_long { Ok(Self(secret)) } else { Err(ShortSecret) }
    }

    /// Returns the secret.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

/// The keys of all secrets, newest first, for both names.
pub struct CookieKeys {
    plain: Vec<Key>,
    secure: Vec<Key>,
}

impl CookieKeys {
    /// Derives the keys. Secrets are in order, newest first, and used as UTF-8 bytes.
    pub fn new(secrets: &[CookieSecret]) -> Self {
        let derive = |name: CookieName| {
            secrets.iter().filter_map(|secret| Key::derive(secret.expose(), name.as_str())).collect()
        };
        Self { plain: derive(CookieName::Plain), secure: derive(CookieName::Secure) }
    }

    fn of(&self, name: CookieName) -> &[Key] {
        match name {
            CookieName::Plain => &self.plain,
            CookieName::Secure => &self.secure,
        }
    }

    /// Encrypts claims with the newest secret and adds `iat`, `exp` and `jti`. `None` without a secret.
    pub fn mint(
        &self,
        env: &dyn Env,
        name: CookieName,
        claims: Map<String, Value>,
        max_age_seconds: i64,
    ) -> Option<String> {
        let (mut iv, mut jti) = ([0; jwe::IV], [0; 16]);
        env.fill(&mut iv);
        env.fill(&mut jti);
        self.seal(name, claims, env.now(), max_age_seconds, iv, &uuid(jti))
    }

    fn seal(
        &self,
        name: CookieName,
        mut claims: Map<String, Value>,
        now: Timestamp,
        max_age_seconds: i64,
        iv: [u8; jwe::IV],
        jti: &str,
    ) -> Option<String> {
        let now = now.unix_millis().div_euclid(1000);
        claims.insert("iat".into(), now.into());
        claims.insert("exp".into(), now.saturating_add(max_age_seconds).into());
        claims.insert("jti".into(), jti.into());
        let text = Secret::new(Value::Object(claims).to_string());
        self.of(name).first()?.seal(text.expose().as_bytes(), iv)
    }

    /// Reads the session cookie, whole or in chunks. Returns `Ok(None)` if there is none.
    ///
    /// If both names are present, only the `preferred` one counts, even if it is invalid.
    pub fn read(
        &self,
        env: &dyn Env,
        preferred: CookieName,
        cookies: &[(&str, &str)],
    ) -> Result<Option<Claims>, NotASession> {
        for name in [preferred, preferred.other()] {
            if let Some(token) = gather(name, cookies) {
                return self.open(env, name, &token).map(Some);
            }
        }
        Ok(None)
    }

    fn open(&self, env: &dyn Env, name: CookieName, token: &str) -> Result<Claims, NotASession> {
        let plain = jwe::open(self.of(name).iter(), token).ok_or(NotASession)?;
        let members: Map<String, Value> = serde_json::from_slice(plain.expose()).map_err(|_| NotASession)?;
        let now = env.now().unix_millis().div_euclid(1000);
        let time = |name: &str| match members.get(name) {
            None => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or(NotASession),
        };
        let (Some(issued), Some(ends)) = (time("iat")?, time("exp")?) else { return Err(NotASession) };
        let begins = time("nbf")?.unwrap_or(issued);
        let over = ends <= now - TOLERANCE_SECONDS;
        let not_yet = issued > now + AHEAD_SECONDS || begins > now + AHEAD_SECONDS;
        if over || not_yet {
            return Err(NotASession);
        }
        let mut token_hash = [0; 32];
        token_hash.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
        let issued_at = Timestamp::from_unix_millis(issued.saturating_mul(1000));
        Ok(Claims { members, token_hash, issued_at })
    }
}

/// Returns the value of the cookie with this name, joined from its chunks `.0`, `.1`, … if necessary.
fn gather(name: CookieName, cookies: &[(&str, &str)]) -> Option<String> {
    let find = |wanted: &str| cookies.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    if let Some(whole) = find(name.as_str()) {
        return Some(whole.to_owned());
    }
    let mut value = String::new();
    for index in 0..CHUNKS {
        match find(&format!("{}.{index}", name.as_str())) {
            Some(chunk) => value.push_str(chunk),
            None => break,
        }
    }
    (!value.is_empty()).then_some(value)
}

/// Returns the cookies for a token, split into chunks as Auth.js does if it is too long for one.
pub fn chunks(name: CookieName, token: &str) -> Vec<(String, String)> {
    if token.len() <= CHUNK {
        return vec![(name.as_str().to_owned(), token.to_owned())];
    }
    // A token is ASCII, so any split is at a character boundary.
    let chunks = token.as_bytes().chunks(CHUNK).enumerate();
    chunks
        .map(|(index, part)| {
            (format!("{}.{index}", name.as_str()), String::from_utf8_lossy(part).into_owned())
        })
        .collect()
}

/// Formats random bytes as a version 4 UUID (RFC 9562 §5.4).
fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| hex.get(range).unwrap_or_default());
    parts.join("-")
}

#[cfg(test)]
mod tests;
