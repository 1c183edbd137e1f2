//! What the server signs and the browser keeps.

use std::{fmt, str::FromStr};

use data_encoding::BASE64URL_NOPAD;
use kernel::{TenantId, Timestamp};
use serde::{Deserialize, Serialize};

use super::key::DeviceKey;
use crate::session::SessionId;

/// Milliseconds for which a challenge to bind a session is valid. The browser answers at once.
const BIND_MILLIS: i64 = 2 * 60_000;
/// Milliseconds for which a challenge to renew the cookie is valid. It comes with the previous cookie, so it must outlive that.
const REFRESH_MILLIS: i64 = 15 * 60_000;

/// Seconds for which the cookie of a bound session is accepted.
const COOKIE_SECONDS: i64 = 10 * 60;
/// Seconds for which browsers keep that cookie: less, so that a request never carries one that expires on its way.
pub const COOKIE_MAX_AGE: i64 = COOKIE_SECONDS - 30;
/// Milliseconds by which the clocks of two servers may differ.
pub(super) const SKEW_MILLIS: i64 = 5 * 60_000;

/// Identifies a bound session to its browser, also after the session got another id: `tenant.thumbprint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SessionIdentifier {
    /// The session's tenant.
    pub tenant: TenantId,
    /// The thumbprint of the key.
    pub thumbprint: [u8; 32],
}

/// Not a session identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the identifier of a bound session")]
pub struct NotAnIdentifier;

impl SessionIdentifier {
    /// Returns the identifier of a session with this key.
    pub fn of(tenant: &TenantId, key: &DeviceKey) -> Self {
        Self { tenant: tenant.clone(), thumbprint: key.thumbprint() }
    }

    /// Returns the name of the session's cookie. Each session has its own, because a browser may still renew the cookie of its
    /// previous session. Browsers accept the prefix only over HTTPS and for the whole host.
    pub fn cookie_name(&self) -> String {
        let text = BASE64URL_NOPAD.encode(&self.thumbprint);
        format!("__Host-gatehouse-bound-{}", text.get(..12).unwrap_or_default())
    }
}

impl fmt::Display for SessionIdentifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.tenant, BASE64URL_NOPAD.encode(&self.thumbprint))
    }
}

impl FromStr for SessionIdentifier {
    type Err = NotAnIdentifier;

    fn from_str(text: &str) -> Result<Self, NotAnIdentifier> {
        let (tenant, thumbprint) = text.split_once('.').ok_or(NotAnIdentifier)?;
        let thumbprint = BASE64URL_NOPAD.decode(thumbprint.as_bytes()).map_err(|_| NotAnIdentifier)?;
        Ok(Self {
            tenant: tenant.parse().map_err(|_| NotAnIdentifier)?,
            thumbprint: thumbprint.try_into().map_err(|_| NotAnIdentifier)?,
        })
    }
}

impl From<SessionIdentifier> for String {
    fn from(identifier: SessionIdentifier) -> Self {
        identifier.to_string()
    }
}

impl TryFrom<String> for SessionIdentifier {
    type Error = NotAnIdentifier;

    fn try_from(text: String) -> Result<Self, NotAnIdentifier> {
        text.parse()
    }
}

/// What a challenge may be answered for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "use", rename_all = "lowercase")]
pub enum ChallengeUse {
    /// Binding a session that has just begun.
    Bind {
        /// The session's tenant.
        tenant: TenantId,
        /// The session.
        session: SessionId,
    },
    /// Renewing the cookie of a bound session.
    Refresh {
        /// The session.
        session: SessionIdentifier,
    },
}

/// A challenge that a browser signs. The caller adds a signature of its own to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// What it may be answered for.
    #[serde(flatten)]
    pub purpose: ChallengeUse,
    /// When it was issued.
    pub issued_at: Timestamp,
}

impl Challenge {
    /// Returns whether the challenge may be answered now. One of the future comes from a server whose clock is wrong.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        let millis = match self.purpose {
            ChallengeUse::Bind { .. } => BIND_MILLIS,
            ChallengeUse::Refresh { .. } => REFRESH_MILLIS,
        };
        now < self.issued_at.plus_millis(millis) && self.issued_at <= now.plus_millis(SKEW_MILLIS)
    }
}

/// The content of the cookie that a browser gets for a proof. The caller signs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundCookie {
    /// The session that it belongs to.
    pub bound: SessionIdentifier,
    /// When it expires.
    pub until: Timestamp,
}

impl BoundCookie {
    /// Returns the cookie of a session that is renewed now.
    pub fn new(session: &SessionIdentifier, now: Timestamp) -> Self {
        Self { bound: session.clone(), until: now.plus_millis(COOKIE_SECONDS * 1000) }
    }

    /// Returns whether the cookie is valid at this time. One that is valid for longer than usual comes from a server whose clock
    /// was wrong.
    pub(super) fn is_valid(&self, now: Timestamp) -> bool {
        let latest = now.plus_millis(COOKIE_SECONDS * 1000 + SKEW_MILLIS);
        now < self.until && self.until <= latest
    }
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    fn bound(now: Timestamp) -> SessionIdentifier {
        SessionIdentifier { tenant: TenantId::new(&ManualEnv::at(now)), thumbprint: [7; 32] }
    }

    #[test]
    fn challenges_are_valid_for_minutes_and_with_differing_clocks() {
        let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let bind =
            ChallengeUse::Bind { tenant: bound(now).tenant, session: SessionId::new(&ManualEnv::at(now)) };
        for (purpose, minutes) in [(bind, 2), (ChallengeUse::Refresh { session: bound(now) }, 15)] {
            let challenge = Challenge { purpose, issued_at: now };
            let end = minutes * 60_000;
            // Five minutes are the difference that clocks may have.
            for (millis, is_valid) in
                [(0, true), (end - 1, true), (end, false), (-300_000, true), (-300_001, false)]
            {
                assert_eq!(challenge.is_valid(now.plus_millis(millis)), is_valid, "{challenge:?}, {millis}");
            }
        }
    }

    #[test]
    fn cookies_are_valid_for_ten_minutes_and_kept_for_less() {
        let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let cookie = BoundCookie::new(&bound(now), now);
        assert_eq!(cookie.until, now.plus_millis(600_000));
        assert_eq!(COOKIE_MAX_AGE, 570, "seconds");
        for (millis, is_valid) in [(599_999, true), (600_000, false), (-300_000, true), (-300_001, false)] {
            assert_eq!(cookie.is_valid(now.plus_millis(millis)), is_valid, "{millis}");
        }
    }

    #[test]
    fn identifiers_are_text() {
        let bound = bound("2026-01-01T00:00:00.000Z".parse().unwrap());
        let text = serde_json::to_string(&bound).unwrap();
        assert_eq!(text, format!("\"{}.{}\"", bound.tenant, BASE64URL_NOPAD.encode(&[7; 32])));
        assert_eq!(serde_json::from_str::<SessionIdentifier>(&text).unwrap(), bound);
        for wrong in ["\"\"", "\"x.AA\"", "\"AAAA\""] {
            assert!(serde_json::from_str::<SessionIdentifier>(wrong).is_err(), "{wrong}");
        }
    }
}
