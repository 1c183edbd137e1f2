//! Logout: tokens with which a provider ends sessions (Back-Channel Logout 1.0), and the redirect that ends the session at
//! the provider (RP-Initiated Logout 1.0).

use kernel::{Secret, Timestamp};
use serde_json::{Map, Value};

use crate::{
    algorithm::Algorithm,
    claims::Reader,
    discovery::{DiscoveryError, ProviderMetadata, endpoint},
    id_token::SKEW_MILLIS,
    jws::{SignedToken, Verified},
    keys::KeySet,
    refusal::{Reason, Refusal},
};

/// The event of a logout token.
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// Maximum time until a logout token expires, so that its ID need not be remembered for longer.
const MAX_LIFETIME_MILLIS: i64 = 24 * 3_600_000;

/// The values that a logout token must match.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedLogout<'e> {
    /// The issuer, compared exactly.
    pub issuer: &'e str,
    /// Our client ID.
    pub client_id: &'e str,
    /// The algorithms that the connection allows.
    pub algorithms: &'e [Algorithm],
    /// Current time.
    pub now: Timestamp,
}

/// The sessions that a provider ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedSessions<'t> {
    /// One session at the provider, by its ID.
    Session(&'t str),
    /// All sessions of a user, by the subject.
    Subject(&'t str),
}

/// A valid logout token. Remember its ID, so that it is consumed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogoutToken {
    /// Unique ID of the token (`jti`).
    pub id: String,
    /// When the token expires, at most 24 hours from now.
    pub expires_at: Timestamp,
    /// Until when the ID must be remembered: longer than the token is accepted.
    pub remember_until: Timestamp,
    subject: Option<String>,
    session: Option<String>,
}

impl LogoutToken {
    /// Returns the sessions that end: the one that the token names, or all of the subject.
    pub fn ended(&self) -> Option<EndedSessions<'_>> {
        let session = self.session.as_deref().map(EndedSessions::Session);
        session.or(self.subject.as_deref().map(EndedSessions::Subject))
    }

    /// Returns the subject, which a host compares to that of the session.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    fn read(all: &Map<String, Value>) -> Result<(Self, LogoutClaims), Refusal> {
        let claims = Reader(all);
        let expires_at = claims.required("exp", Reader::time)?;
        let token = Self {
            id: claims.required("jti", Reader::text)?,
            expires_at,
            remember_until: expires_at.plus_millis(2 * SKEW_MILLIS),
            subject: claims.text("sub")?,
            session: claims.text("sid")?,
        };
        let claims = LogoutClaims {
            issuer: claims.required("iss", Reader::text)?,
            audiences: claims.required("aud", Reader::texts)?,
            issued_at: claims.required("iat", Reader::time)?,
            not_before: claims.time("nbf")?,
        };
        Ok((token, claims))
    }
}

/// The claims that are only checked.
struct LogoutClaims {
    issuer: String,
    audiences: Vec<String>,
    issued_at: Timestamp,
    not_before: Option<Timestamp>,
}

/// Validates a logout token (Back-Channel Logout 1.0, section 2.6). The header may omit its type, which older providers do.
pub fn examine_logout(
    token: &str,
    keys: &KeySet,
    expected: &ExpectedLogout<'_>,
) -> Result<Verified<LogoutToken>, Refusal> {
    let token = SignedToken::parse(token, &["logout+jwt", "JWT"])?;
    let signed = token.verify(keys, expected.algorithms)?;
    signed.read(|signed| check(&signed.members, expected))
}

fn check(members: &Map<String, Value>, expected: &ExpectedLogout<'_>) -> Result<LogoutToken, Refusal> {
    let has_event = members.get("events").and_then(|events| events.get(EVENT)).is_some_and(Value::is_object);
    if !has_event {
        return Err(Refusal::new(Reason::NotALogout, format!("events does not contain {EVENT}")));
    }
    // An ID token has a nonce, so it never passes for a logout token.
    if members.contains_key("nonce") {
        return Err(Refusal::new(Reason::NotALogout, "a logout token has no nonce"));
    }
    let (token, claims) = LogoutToken::read(members)?;
    if token.ended().is_none() {
        return Err(Refusal::new(Reason::ClaimMissing, "sub and sid are missing"));
    }
    if claims.issuer != expected.issuer {
        let detail = format!("iss is {:?}, not {:?}", claims.issuer, expected.issuer);
        return Err(Refusal::new(Reason::Issuer, detail));
    }
    // Unlike an ID token, it may be for several clients.
    if !claims.audiences.iter().any(|audience| audience == expected.client_id) {
        let detail = format!("aud is {:?}, without {:?}", claims.audiences, expected.client_id);
        return Err(Refusal::new(Reason::Audience, detail));
    }
    if token.expires_at.plus_millis(SKEW_MILLIS) <= expected.now {
        return Err(Refusal::new(Reason::Expired, format!("exp is {}", token.expires_at)));
    }
    if token.expires_at > expected.now.plus_millis(MAX_LIFETIME_MILLIS) {
        let detail = format!("exp is {}, more than 24 hours from now", token.expires_at);
        return Err(Refusal::new(Reason::ClaimMalformed, detail));
    }
    let latest = expected.now.plus_millis(SKEW_MILLIS);
    if claims.issued_at > latest {
        return Err(Refusal::new(Reason::IssuedAt, format!("iat is {}, in the future", claims.issued_at)));
    }
    if let Some(start) = claims.not_before.filter(|start| *start > latest) {
        return Err(Refusal::new(Reason::NotYetValid, format!("nbf is {start}")));
    }
    Ok(token)
}

/// Returns the URL that ends the user's session at the provider and then redirects to `return_to`, which must be registered
/// at the provider. `id_token` is that of the sign-in; without it, providers ask the user. `None` if the provider has no such
/// endpoint.
pub fn end_session_url(
    provider: &ProviderMetadata,
    client_id: &str,
    return_to: &str,
    id_token: Option<&Secret<String>>,
) -> Result<Option<String>, DiscoveryError> {
    let Some(address) = &provider.end_session_endpoint else { return Ok(None) };
    let mut url = endpoint("end_session_endpoint", address)?;
    url.query_pairs_mut()
        .append_pair("client_id", client_id)
        .append_pair("post_logout_redirect_uri", return_to);
    if let Some(id_token) = id_token {
        url.query_pairs_mut().append_pair("id_token_hint", id_token.expose());
    }
    Ok(Some(url.into()))
}
