//! What the rules need of storage.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{Pat, PatId, ScimToken, ScimTokenId};

/// Where one tenant's SCIM tokens are kept.
#[async_trait]
pub trait ScimTokenStore: Send {
    /// Keeps a new token.
    async fn insert_scim_token(&mut self, token: &ScimToken) -> StoreResult<()>;
    /// The token of this id, revoked or not.
    async fn scim_token(&mut self, id: &ScimTokenId) -> StoreResult<Option<ScimToken>>;
    /// Those in force, newest first.
    async fn scim_tokens(&mut self) -> StoreResult<Vec<ScimToken>>;
    /// Marks a token revoked unless it is already; tells whether it changed.
    async fn revoke_scim_token(&mut self, id: &ScimTokenId, at: Timestamp) -> StoreResult<bool>;
}

/// Where one tenant's personal access tokens are kept.
#[async_trait]
pub trait PatStore: Send {
    /// Keeps a new token.
    async fn insert_pat(&mut self, token: &Pat) -> StoreResult<()>;
    /// A person's tokens that are not revoked, newest first.
    async fn pats_of(&mut self, user: &UserId) -> StoreResult<Vec<Pat>>;
    /// The token of this id, revoked or not.
    async fn pat(&mut self, id: &PatId) -> StoreResult<Option<Pat>>;
    /// Marks a token revoked unless it is already; tells whether it changed.
    async fn revoke_pat(&mut self, id: &PatId, at: Timestamp) -> StoreResult<bool>;
}
