//! The text of a token: prefix (`scim_`, `pat_`, …), tenant key (26), secret (32) and checksum (7).

use crate::Malformed;
use std::fmt;

use kernel::{Env, Secret, TenantId};
use ring::digest;

pub(crate) const TENANT_LEN: usize = 26;
const SECRET_BYTES: usize = 20;
pub(crate) const SECRET_LEN: usize = 32;
pub(crate) const CHECKSUM_LEN: usize = 7;

/// The purpose of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A SCIM token of an identity provider: `scim_…`.
    Scim,
    /// A SCIM token whose changes are not made: `dryrun_…`. Servers that do not know dry runs refuse it.
    DryRun,
    /// A personal access token, with which programs act as a user: `pat_…`.
    Pat,
    /// The ticket of a sign-in between two steps: `tkt_…`.
    Ticket,
    /// An invitation or reset link: `lnk_…`.
    Link,
    /// The token of a receiver of shared signals: `ssf_…`.
    Signals,
    /// The token with which a transmitter of shared signals pushes events: `push_…`. It authenticates nothing else.
    SignalPush,
}

impl TokenKind {
    /// Returns the letters before the underscore.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Scim => "scim",
            Self::DryRun => "dryrun",
            Self::Pat => "pat",
            Self::Ticket => "tkt",
            Self::Link => "lnk",
            Self::Signals => "ssf",
            Self::SignalPush => "push",
        }
    }

    fn of_prefix(prefix: &str) -> Option<Self> {
        [Self::Scim, Self::DryRun, Self::Pat, Self::Ticket, Self::Link, Self::Signals, Self::SignalPush]
            .into_iter()
            .find(|kind| kind.prefix() == prefix)
    }
}

/// A token in plain text. It cannot be printed; only [`RawToken::expose`] returns the text.
pub struct RawToken {
    text: Secret<String>,
    kind: TokenKind,
    tenant: TenantId,
}

/// SHA-256 of a token's whole text. Tokens are stored and found by it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Returns the 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads a stored hash; `None` unless it has 32 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

impl RawToken {
    /// Mints a token of `tenant` with 160 random bits from `env`.
    pub fn mint(env: &dyn Env, kind: TokenKind, tenant: &TenantId) -> Self {
        let mut secret = [0_u8; SECRET_BYTES];
        env.fill(&mut secret);
        let secret = Secret::new(data_encoding::BASE32_NOPAD.encode(&secret).to_ascii_lowercase());
        let body = format!("{}_{}{}", kind.prefix(), tenant.key(), secret.expose());
        let text = format!("{body}{}", checksum(&body));
        Self { text: Secret::new(text), kind, tenant: tenant.clone() }
    }

    /// Parses the text that a client presents. Does not check that the token was ever minted.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let (prefix, rest) = text.split_once('_').ok_or(Malformed::Shape)?;
        let kind = TokenKind::of_prefix(prefix).ok_or(Malformed::Shape)?;
        let ascii = rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !ascii || rest.len() != TENANT_LEN + SECRET_LEN + CHECKSUM_LEN {
            return Err(Malformed::Shape);
        }
        let (body, sum) = text.split_at(text.len() - CHECKSUM_LEN);
        if checksum(body) != sum {
            return Err(Malformed::Checksum);
        }
        let (tenant, _) = rest.split_at(TENANT_LEN);
        let tenant = TenantId::from_key(tenant).map_err(|_| Malformed::Shape)?;
        Ok(Self { text: Secret::new(text.to_owned()), kind, tenant })
    }

    /// Returns the plain text, to be shown once.
    pub fn expose(&self) -> &str {
        self.text.expose()
    }

    /// Returns the purpose of the token.
    pub fn kind(&self) -> TokenKind {
        self.kind
    }

    /// Returns the tenant that the token claims. It is confirmed only if that tenant has stored the hash.
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// Returns the claimed tenant if the token is of this kind.
    pub fn of_kind(self, kind: TokenKind) -> Option<Self> {
        (self.kind == kind).then_some(self)
    }

    /// Returns the hash to store.
    pub fn hash(&self) -> TokenHash {
        let digest = digest::digest(&digest::SHA256, self.text.expose().as_bytes());
        let mut bytes = [0_u8; 32];
        bytes.copy_from_slice(digest.as_ref());
        TokenHash(bytes)
    }
}

fn checksum(body: &str) -> String {
    data_encoding::BASE32_NOPAD.encode(&crc32fast::hash(body.as_bytes()).to_be_bytes()).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ManualEnv;

    fn sample() -> (TenantId, RawToken) {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let tenant = TenantId::new(&env);
        let token = RawToken::mint(&env, TokenKind::Scim, &tenant);
        (tenant, token)
    }

    #[test]
    fn a_minted_token_reads_back() {
        let (tenant, token) = sample();
        let read = RawToken::parse(token.expose()).unwrap();
        assert_eq!(read.tenant(), &tenant);
        assert_eq!(read.hash(), token.hash());
        assert_eq!(token.expose().len(), 70);
    }

    #[test]
    fn any_changed_character_is_detected() {
        let (_, token) = sample();
        let text = token.expose();
        for at in 0..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'7' { b'6' } else { b'7' };
            assert!(RawToken::parse(std::str::from_utf8(&bytes).unwrap()).is_err(), "at {at}");
        }
    }

    #[test]
    fn malformed_texts_are_refused() {
        let (_, token) = sample();
        let longer = format!("{}a", token.expose());
        let upper = token.expose().to_ascii_uppercase();
        for text in ["", "_", "scim_", "pat_abc", "scim_é", &longer, &upper, &token.expose()[..69]] {
            assert!(RawToken::parse(text).is_err(), "{text}");
        }
    }
}
