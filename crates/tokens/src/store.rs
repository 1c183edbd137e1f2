//! The storage that the rules need.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{Pat, PatId, ScimToken, ScimTokenId};

/// Stores one tenant's SCIM tokens.
#[async_trait]
pub trait ScimTokenStore: Send {
    /// Inserts a token.
    async fn insert_scim_token(&mut self, token: &ScimToken) -> StoreResult<()>;
    /// Returns the token with this id, even if it is revoked.
    async fn scim_token(&mut self, id: &ScimTokenId) -> StoreResult<Option<ScimToken>>;
    /// Returns the tokens that are not revoked, newest first: by id, which begins with the time.
    async fn scim_tokens(&mut self) -> StoreResult<Vec<ScimToken>>;
    /// Revokes a token. Returns `false` if it was revoked before.
    async fn revoke_scim_token(&mut self, id: &ScimTokenId, at: Timestamp) -> StoreResult<bool>;
}

/// Stores one tenant's personal access tokens.
#[async_trait]
pub trait PatStore: Send {
    /// Inserts a token.
    async fn insert_pat(&mut self, token: &Pat) -> StoreResult<()>;
    /// Returns a user's tokens that are not revoked, newest first: by id, which begins with the time.
    async fn pats_of(&mut self, user: &UserId) -> StoreResult<Vec<Pat>>;
    /// Returns the token with this id, even if it is revoked.
    async fn pat(&mut self, id: &PatId) -> StoreResult<Option<Pat>>;
    /// Revokes a token. Returns `false` if it was revoked before.
    async fn revoke_pat(&mut self, id: &PatId, at: Timestamp) -> StoreResult<bool>;
}
