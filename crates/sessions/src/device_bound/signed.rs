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
