//! The storage that the rules need.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use super::RemovalLimit;
use crate::ScimTokenId;

/// How a request removes a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemovalKind {
    /// It sets `active` to false.
    Deactivate,
    /// It deletes the user.
    Delete,
}

impl RemovalKind {
    /// Returns the name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deactivate => "DEACTIVATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The removal of a user that a SCIM token requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The user.
    pub user: UserId,
    /// Whether the user is active before the removal.
    pub was_active: bool,
    /// When the user was created.
    pub created: Timestamp,
    /// How the request removes the user.
    pub kind: RemovalKind,
}

/// A removal that waits for the decision of an administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRemoval {
    /// The user.
    pub user: UserId,
    /// A deletion if any request asked for one.
    pub kind: RemovalKind,
    /// When it was first requested; a deletion, when the deletion was.
    pub at: Timestamp,
}

/// Whether the removals of a token are paused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemovalState {
    /// When they were paused, if they are.
    pub paused_at: Option<Timestamp>,
    /// The number of users from which the share is computed, and when they were counted.
    pub counted: Option<(u64, Timestamp)>,
}

/// Stores the removals of one tenant's SCIM tokens.
#[async_trait]
pub trait RemovalStore: Send {
    /// Returns the tenant's limit.
    async fn removal_limit(&mut self) -> StoreResult<RemovalLimit>;
    /// Replaces the tenant's limit.
    async fn set_removal_limit(&mut self, limit: &RemovalLimit) -> StoreResult<()>;
    /// Returns the state of a token that is not revoked, and locks it until the end of the unit of work.
    async fn removal_state(&mut self, token: &ScimTokenId) -> StoreResult<Option<RemovalState>>;
    /// Replaces the state of a token.
    async fn set_removal_state(&mut self, token: &ScimTokenId, state: &RemovalState) -> StoreResult<()>;
    /// Records that a token removes a user. A user is recorded once, with the newest time.
    async fn record_removal(&mut self, token: &ScimTokenId, user: &UserId, at: Timestamp) -> StoreResult<()>;
    /// Returns how many users other than `user` the token has removed after `since`.
    async fn count_removals(
        &mut self,
        token: &ScimTokenId,
        user: &UserId,
        since: Timestamp,
    ) -> StoreResult<u64>;
    /// Deletes the recorded removals of a token.
    async fn forget_removals(&mut self, token: &ScimTokenId) -> StoreResult<()>;
    /// Returns the number of active users of the tenant that were created before a time.
    async fn count_active_users(&mut self, created_before: Timestamp) -> StoreResult<u64>;
    /// Holds a removal. If the store holds one of the user, only a deletion in place of a deactivation changes it.
    async fn hold_removal(&mut self, token: &ScimTokenId, held: &HeldRemoval) -> StoreResult<()>;
    /// Returns the held removals of a token with a greater user id than `after`, sorted by it, at most `count`.
    async fn held_removals(
        &mut self,
        token: &ScimTokenId,
        after: Option<&UserId>,
        count: u32,
    ) -> StoreResult<Vec<HeldRemoval>>;
    /// Returns the number of held removals of a token.
    async fn count_held_removals(&mut self, token: &ScimTokenId) -> StoreResult<u64>;
    /// Deletes the held removal of a user.
    async fn drop_held_removal(&mut self, token: &ScimTokenId, user: &UserId) -> StoreResult<()>;
    /// Deletes all held removals of a token.
    async fn drop_held_removals(&mut self, token: &ScimTokenId) -> StoreResult<()>;
}
