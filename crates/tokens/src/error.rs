//! Why a token is not issued, not revoked or not read.

use kernel::StoreError;

use crate::{
    pat::{MAX_DAYS, MAX_TOKENS, Scope},
    raw::{CHECKSUM_LEN, SECRET_LEN, TENANT_LEN},
    scim::NAME_MAX,
};

/// Why a SCIM token was not issued or revoked.
#[derive(Debug, thiserror::Error)]
pub enum ScimTokenError {
    /// The name is empty, too long or has control characters.
    #[error("name: write 1 to {NAME_MAX} printable characters")]
    Name,
    /// No token of this id, or it is revoked already.
    #[error("no such token")]
    NotFound,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a personal access token was not issued or revoked.
#[derive(Debug, thiserror::Error)]
pub enum PatError {
    /// The name is empty, too long or has control characters.
    #[error("name: write 1 to {NAME_MAX} printable characters")]
    Name,
    /// None, or one twice.
    #[error(
        "scopes: name at least one of read:profile, write:profile, read:hcm, write:hcm, admin:tenant, each once"
    )]
    Scopes,
    /// Too short or too long.
    #[error("expiresInDays: write a number from 1 to {MAX_DAYS}")]
    Days,
    /// The tenant allows fewer days.
    #[error("expiresInDays: the sign-in policy of this tenant allows at most {0} days")]
    DaysAllowed(i64),
    /// The tenant does not allow a scope.
    #[error("scopes: the sign-in policy of this tenant does not allow {0}; leave it out")]
    ScopeNotAllowed(Scope),
    /// The person has too many.
    #[error("there are {MAX_TOKENS} tokens in force; revoke one first")]
    TooMany,
    /// No token of this id is the person's.
    #[error("no such token")]
    NotFound,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The text is not a token of ours: unknown prefix, wrong length, alphabet or checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// No known prefix, wrong length or a character outside the alphabet.
    #[error("not of the form scim_… or pat_… with {} characters after it", TENANT_LEN + SECRET_LEN + CHECKSUM_LEN)]
    Shape,
    /// The last seven characters do not fit the rest: a typing or copying error.
    #[error("the checksum does not fit: was it copied whole?")]
    Checksum,
}
