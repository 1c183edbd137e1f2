//! The token: `stp2.KEY.CLAIMS.TAG`. The tag is HMAC-SHA256 over everything before it, the key's id included.

use std::net::IpAddr;

use data_encoding::BASE64URL_NOPAD;
use kernel::{Secret, SigningKeys, TenantId, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::{Factor, GrantId, store::Grant};

/// Characters of a token at most.
pub const MAX_LENGTH: usize = 1024;

/// The form that this version writes and reads.
const VERSION: &str = "stp2";

/// Bytes of HMAC-SHA256.
const TAG: usize = 32;

/// The raw token, as the client gets it once.
pub type Token = Secret<String>;

/// What a token says, once its signature is seen to be ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// What it is kept under.
    #[serde(rename = "i")]
    pub id: GrantId,
    /// In which tenant.
    #[serde(rename = "t")]
    pub tenant: TenantId,
    /// Who gave the proof.
    #[serde(rename = "u")]
    pub user: UserId,
    /// In which session.
    #[serde(rename = "s")]
    pub session: String,
    /// The purpose's name.
    #[serde(rename = "p")]
    pub purpose: String,
    /// Client address that the token is bound to.
    #[serde(rename = "a")]
    pub ip: IpAddr,
    /// Factor type that was proved.
    #[serde(rename = "f")]
    pub factor: Factor,
    /// From when on it is good for nothing, in milliseconds since 1970.
    #[serde(rename = "e")]
    expires: i64,
}

/// Why a token is not good for the act it came with: the first of these that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Not a token of this form, or more than one.
    #[error("the step-up token is malformed")]
    Malformed,
    /// Nobody with a key of ours has made it.
    #[error("the step-up token was not made here")]
    SignatureInvalid,
    /// Its time is over.
    #[error("the step-up token has expired")]
    Expired,
    /// It was given for another act.
    #[error("the step-up token is for another purpose")]
    PurposeMismatch,
    /// By somebody else.
    #[error("the step-up token is somebody else's")]
    UserMismatch,
    /// In another session.
    #[error("the step-up token is of another session")]
    SessionMismatch,
    /// From another address.
    #[error("the step-up token was given at another address")]
    IpMismatch,
    /// The token was consumed before.
    #[error("the step-up token was used already")]
    AlreadyUsed,
    /// Taken back: the session ended, a factor was removed, the password changed.
    #[error("the step-up token was taken back")]
    Revoked,
}

impl Invalid {
    /// As the API says it.
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

    /// From when on the token is good for nothing.
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.expires)
    }

    /// The token that says this; `None` if there is no key to sign with.
    pub(crate) fn sign(&self, keys: &SigningKeys) -> Option<Token> {
        let claims = BASE64URL_NOPAD.encode(&serde_json::to_vec(self).ok()?);
        let message = signed(keys.newest()?, &claims);
        let tag = BASE64URL_NOPAD.encode(&keys.sign(message.as_bytes())?.tag);
        Some(Secret::new(format!("{message}.{tag}")))
    }

    /// What a text says that is a token of ours, compared in constant time.
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
        // Strict: what was cut, or ends in other bits, is no base64url.
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

/// Returns the signed text: form, key id and claims. A token is bound to the version and to the key that it names.
fn signed(key: &str, claims: &str) -> String {
    format!("{VERSION}.{key}.{claims}")
}

#[cfg(test)]
mod tests {
    use kernel::{MasterKeys, SystemEnv};

    use super::*;

    #[test]
    fn the_version_and_the_key_id_are_signed() {
        // The same bytes under two ids: only the id tells the two tokens apart.
        let masters = ["a", "b"].map(|id| (id.to_owned(), Secret::new(vec![1; 32])));
        let keys = SigningKeys::derive(&MasterKeys::new(masters.into()).unwrap(), "step-up");
        let env = SystemEnv::default();
        let claims = Claims {
            id: GrantId::new(&env),
            tenant: TenantId::new(&env),
            user: UserId::new(&env),
            session: "ses_1".to_owned(),
            purpose: "PAYROLL_SEAL".to_owned(),
            ip: std::net::Ipv4Addr::LOCALHOST.into(),
            factor: Factor::Totp,
            expires: 60_000,
        };
        let token = claims.sign(&keys).unwrap();
        let token = token.expose();
        assert_eq!(Claims::read(&keys, token), Ok(claims));
        let renamed = token.replacen("stp2.a.", "stp2.b.", 1);
        assert_ne!(&renamed, token);
        assert_eq!(Claims::read(&keys, &renamed), Err(Invalid::SignatureInvalid));
        let older = token.replacen("stp2.", "stp1.", 1);
        assert_eq!(Claims::read(&keys, &older), Err(Invalid::Malformed));
    }
}
