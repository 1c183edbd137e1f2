//! The reasons for refusing to issue, revoke or parse a token.

use kernel::StoreError;

use crate::{
    pat::{MAX_DAYS, MAX_TOKENS, Scope},
    raw::{CHECKSUM_LEN, SECRET_LEN, TENANT_LEN},
    scim::{MAX_DRY_RUNS, NAME_MAX},
};

/// The reason why a SCIM token was not issued or revoked.
#[derive(Debug, thiserror::Error)]
pub enum ScimTokenError {
    /// The name is empty, too long or contains control characters.
    #[error("name: write 1 to {NAME_MAX} printable characters")]
    Name,
    /// The tenant has the maximum number of tokens for dry runs.
    #[error("This tenant has {MAX_DRY_RUNS} tokens for dry runs, the maximum. Revoke one first.")]
    TooManyDryRuns,
    /// The token does not exist or has been revoked.
    #[error("there is no such token")]
    NotFound,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a personal access token was not issued or revoked.
#[derive(Debug, thiserror::Error)]
pub enum PatError {
    /// The name is empty, too long or contains control characters.
    #[error("name: write 1 to {NAME_MAX} printable characters")]
    Name,
    /// The list is empty, or names a scope twice.
    #[error(
        "scopes: name at least one of read:profile, write:profile, read:hcm, write:hcm, admin:tenant, each once"
    )]
    Scopes,
    /// The lifetime is out of range.
    #[error("expiresInDays: write a number from 1 to {MAX_DAYS}")]
    Days,
    /// The tenant's policy requires a shorter lifetime.
    #[error("expiresInDays: the sign-in policy of this tenant allows at most {0} days")]
    DaysAllowed(i64),
    /// The tenant's policy does not allow this scope.
    #[error("scopes: the sign-in policy of this tenant does not allow {0}; remove it")]
    ScopeNotAllowed(Scope),
    /// The user has the maximum number of live tokens.
    #[error("You already have {MAX_TOKENS} active tokens, the maximum. Revoke one first.")]
    TooMany,
    /// The user has no token with this id.
    #[error("there is no such token")]
    NotFound,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The text is not a Gatehouse token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The prefix is unknown, the length is wrong, or a character is outside the alphabet.
    #[error(
        "write a token of the form scim_… or pat_… with {} characters after the prefix",
        TENANT_LEN + SECRET_LEN + CHECKSUM_LEN
    )]
    Shape,
    /// The checksum (the last seven characters) does not match: the token was mistyped or truncated.
    #[error("the checksum does not match; copy the whole token")]
    Checksum,
}
