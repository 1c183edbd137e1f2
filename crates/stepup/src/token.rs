//! The token: `stp2.KEY.CLAIMS.TAG`. The tag is HMAC-SHA256 over everything before it, including the key's id.

use std::net::IpAddr;

use data_encoding::BASE64URL_NOPAD;
use kernel::{Secret, SigningKeys, TenantId, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::{Factor, GrantId, store::Grant};

/// Maximum number of characters of a token.
pub const MAX_LENGTH: usize = 1024;

/// The version of the format that this crate writes and reads.
const VERSION: &str = "stp2";

/// Length of HMAC-SHA256 in bytes.
const TAG: usize = 32;

/// The raw token, which the client receives once.
pub type Token = Secret<String>;

/// The claims of a token with a verified signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The id of the stored record.
    #[serde(rename = "i")]
    pub id: GrantId,
    /// The tenant.
    #[serde(rename = "t")]
    pub tenant: TenantId,
    /// The user who completed the step-up.
    #[serde(rename = "u")]
    pub user: UserId,
    /// The user's session.
    #[serde(rename = "s")]
    pub session: String,
    /// The name of the purpose.
    #[serde(rename = "p")]
    pub purpose: String,
    /// Client address that the token is bound to.
    #[serde(rename = "a")]
    pub ip: IpAddr,
    /// Factor type that was proved.
    #[serde(rename = "f")]
    pub factor: Factor,
    /// When the token expires, in milliseconds since 1970.
    #[serde(rename = "e")]
    expires: i64,
}

/// Why a token does not authorize an act. The first reason that applies is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// The text is not a token of this format, or there are several.
    #[error("the step-up token is malformed")]
    Malformed,
    /// The signature is not by a known key.
    #[error("the step-up token has an invalid signature")]
    SignatureInvalid,
    /// The token has expired.
    #[error("the step-up token has expired")]
    Expired,
    /// The token is for another purpose.
    #[error("the step-up token is for another purpose")]
    PurposeMismatch,
    /// The token belongs to another user.
    #[error("the step-up token belongs to another user")]
    UserMismatch,
    /// The token belongs to another session.
    #[error("the step-up token belongs to another session")]
    SessionMismatch,
    /// The token is bound to another address.
    #[error("the step-up token was issued to another address")]
    IpMismatch,
    /// The token was consumed before.
    #[error("the step-up token was already used")]
    AlreadyUsed,
    /// The token was revoked: the session ended, a factor was removed, or the password changed.
    #[error("the step-up token was revoked")]
    Revoked,
}

impl Invalid {
    /// Returns the reason in the API.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Malformed => "MALFORMED",
            Self::SignatureInvalid => "SIGNATURE_INVALID",
            Self::Expired => "EXPIRED",
            Self::PurposeMismatch => "PURPOSE_MISMATCH",
            Self::UserMismatch => "USER_MISMATCH",
            Self::SessionMismatch => "SESSION_MISMATCH",
            Self::IpMismatch => "IP_MISMATCH",
            Self::AlreadyUsed => "ALREADY_USED",
            Self::Revoked => "REVOKED",
        }
    }
}

impl Claims {
    pub(crate) fn of(tenant: &TenantId, grant: &Grant) -> Self {
        Self {
            id: grant.id.clone(),
            tenant: tenant.clone(),
            user: grant.user.clone(),
            session: grant.session.clone(),
            purpose: grant.purpose.clone(),
            ip: grant.ip,
            factor: grant.factor,
            expires: grant.expires_at.unix_millis(),
        }
    }

    /// Returns when the token expires.
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.expires)
    }

    /// Signs the claims; `None` without a key.
    pub(crate) fn sign(&self, keys: &SigningKeys) -> Option<Token> {
        let claims = BASE64URL_NOPAD.encode(&serde_json::to_vec(self).ok()?);
        let message = signed(keys.newest()?, &claims);
        let tag = BASE64URL_NOPAD.encode(&keys.sign(message.as_bytes())?.tag);
        Some(Secret::new(format!("{message}.{tag}")))
    }

    /// Parses a token and verifies its signature in constant time.
    pub(crate) fn read(keys: &SigningKeys, text: &str) -> Result<Self, Invalid> {
        if text.len() > MAX_LENGTH {
            return Err(Invalid::Malformed);
        }
        let mut parts = text.split('.');
        let (Some(VERSION), Some(key), Some(claims), Some(tag), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Invalid::Malformed);
        };
        // Strict decoding: truncated text and non-zero trailing bits are invalid base64url.
        let bytes = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|_| Invalid::Malformed);
        let (plain, tag) = (bytes(claims)?, bytes(tag)?);
        if tag.len() != TAG {
            return Err(Invalid::Malformed);
        }
        if !keys.verify(key, signed(key, claims).as_bytes(), &tag) {
            return Err(Invalid::SignatureInvalid);
        }
        serde_json::from_slice(&plain).map_err(|_| Invalid::Malformed)
    }
}

/// Returns the signed text: version, key id and claims. The signature binds the token to its version and key id.
fn signed(key: &str, claims: &str) -> String {
    format!("{VERSION}.{key}.{claims}")
}

#[cfg(test)]
mod tests {
    use kernel::{MasterKeys, SystemEnv};

    use super::*;

    fn claims(session: &str) -> Claims {
        let env = SystemEnv::default();
        Claims {
            id: GrantId::new(&env),
            tenant: TenantId::new(&env),
            user: UserId::new(&env),
            session: session.to_owned(),
            purpose: "PAYROLL_SEAL".to_owned(),
            ip: std::net::Ipv4Addr::LOCALHOST.into(),
            factor: Factor::Totp,
            expires: 60_000,
        }
    }

    #[test]
    fn signature_covers_version_and_key_id() {
        // Both keys have the same bytes, so only the id distinguishes the two tokens.
        let masters = ["a", "b"].map(|id| (id.to_owned(), Secret::new(vec![1; 32])));
        let keys = SigningKeys::derive(&MasterKeys::new(masters.into()).unwrap(), "step-up");
        let claims = claims("ses_1");
        let token = claims.sign(&keys).unwrap();
        let token = token.expose();
        assert_eq!(Claims::read(&keys, token), Ok(claims));
        let renamed = token.replacen("stp2.a.", "stp2.b.", 1);
        assert_ne!(&renamed, token);
        assert_eq!(Claims::read(&keys, &renamed), Err(Invalid::SignatureInvalid));
        let older = token.replacen("stp2.", "stp1.", 1);
        assert_eq!(Claims::read(&keys, &older), Err(Invalid::Malformed));
    }

    #[test]
    fn tokens_are_at_most_1024_characters_long() {
        let read = |key: &str, length: usize| {
            let masters = vec![(key.to_owned(), Secret::new(vec![1; 32]))];
            let keys = SigningKeys::derive(&MasterKeys::new(masters).unwrap(), "step-up");
            let claims = claims(&"s".repeat(length));
            let token = claims.sign(&keys).unwrap();
            (token.expose().len(), Claims::read(&keys, token.expose()).map(drop))
        };
        // Base64 has no text of some lengths, so the key's id is one or two characters long.
        let tokens: Vec<_> =
            ["a", "ab"].iter().flat_map(|key| (400..600).map(|length| read(key, length))).collect();
        for length in [MAX_LENGTH - 1, MAX_LENGTH, MAX_LENGTH + 1] {
            assert!(tokens.iter().any(|(of, _)| *of == length), "{length}");
        }
        for (length, read) in tokens {
            let expected = if length <= 1024 { Ok(()) } else { Err(Invalid::Malformed) };
            assert_eq!(read, expected, "{length}");
        }
    }
}
