//! SCIM tokens: minted by an administrator or the command line, presented by an identity provider.

use crate::ScimTokenError;
use crate::ScimTokenStore;
use std::net::IpAddr;

use kernel::{Ctx, Id, Kind, Timestamp};

use crate::{RawToken, TokenHash, TokenKind};

/// The kind of SCIM token ids.
#[derive(Debug, Clone, Copy)]
pub enum ScimTokenKind {}
impl Kind for ScimTokenKind {
    const PREFIX: &'static str = "sct";
}
/// `sct_…`
pub type ScimTokenId = Id<ScimTokenKind>;

/// Maximum number of characters of a token's name.
pub const NAME_MAX: usize = 100;

/// Maximum number of tokens for dry runs that are not revoked.
pub const MAX_DRY_RUNS: usize = 5;

/// A stored SCIM token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScimToken {
    /// Its id, which is also the actor's id in the audit log.
    pub id: ScimTokenId,
    /// The name the administrator has given it.
    pub name: String,
    /// SHA-256 of the raw token.
    pub hash: TokenHash,
    /// Whether creating an existing user returns 409 instead of 200 with that user.
    pub create_conflict: bool,
    /// Whether its changes are kept beside the tenant's users and groups instead of being made.
    pub dry_run: bool,
    /// When its removals of users were paused, if they are. See [`removals`](crate::removals).
    pub removals_paused_at: Option<Timestamp>,
    /// When it was minted.
    pub created_at: Timestamp,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// The address it was last used from.
    pub last_used_ip: Option<IpAddr>,
}

/// The choices for a new SCIM token.
#[derive(Debug, Clone)]
pub struct NewScimToken {
    /// 1 to [`NAME_MAX`] characters.
    pub name: String,
    /// See [`ScimToken::create_conflict`].
    pub create_conflict: bool,
    /// See [`ScimToken::dry_run`].
    pub dry_run: bool,
}

/// Mints a token for the tenant of `ctx`. The raw text exists only in the returned value.
pub async fn mint(
    ctx: &Ctx,
    store: &mut dyn ScimTokenStore,
    new: NewScimToken,
) -> Result<(ScimToken, RawToken), ScimTokenError> {
    let name = new.name.trim();
    let length = name.chars().count();
    if length == 0 || length > NAME_MAX || name.chars().any(char::is_control) {
        return Err(ScimTokenError::Name);
    }
    if new.dry_run {
        let tokens = store.scim_tokens().await?;
        if tokens.iter().filter(|token| token.dry_run).count() >= MAX_DRY_RUNS {
            return Err(ScimTokenError::TooManyDryRuns);
        }
    }
    let kind = if new.dry_run { TokenKind::DryRun } else { TokenKind::Scim };
    let raw = RawToken::mint(&*ctx.env, kind, &ctx.tenant);
    let token = ScimToken {
        id: ScimTokenId::new(&*ctx.env),
        name: name.to_owned(),
        hash: raw.hash(),
        create_conflict: new.create_conflict,
        dry_run: new.dry_run,
        removals_paused_at: None,
        created_at: ctx.now,
        revoked_at: None,
        last_used_at: None,
        last_used_ip: None,
    };
    store.insert_scim_token(&token).await?;
    Ok((token, raw))
}

/// Revokes a token. The next request with it is refused.
pub async fn revoke(
    ctx: &Ctx,
    store: &mut dyn ScimTokenStore,
    id: &ScimTokenId,
) -> Result<(), ScimTokenError> {
    if store.revoke_scim_token(id, ctx.now).await? { Ok(()) } else { Err(ScimTokenError::NotFound) }
}
