//! In-memory storage for tests and examples.

use std::collections::BTreeMap;

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use super::{HeldRemoval, RemovalLimit, RemovalState, RemovalStore};
use crate::ScimTokenId;

/// Users, and removals of one tenant, in memory. Every token is known and not revoked.
#[derive(Debug, Clone, Default)]
pub struct MemoryRemovals {
    /// The active users, and when they were created.
    pub active: BTreeMap<UserId, Timestamp>,
    limit: RemovalLimit,
    states: BTreeMap<ScimTokenId, RemovalState>,
    removed: BTreeMap<(ScimTokenId, UserId), Timestamp>,
    held: BTreeMap<(ScimTokenId, UserId), HeldRemoval>,
}

#[async_trait]
impl RemovalStore for MemoryRemovals {
    async fn removal_limit(&mut self) -> StoreResult<RemovalLimit> {
        Ok(self.limit)
    }

    async fn set_removal_limit(&mut self, limit: &RemovalLimit) -> StoreResult<()> {
        self.limit = *limit;
        Ok(())
    }

    async fn removal_state(&mut self, token: &ScimTokenId) -> StoreResult<Option<RemovalState>> {
        Ok(Some(self.states.get(token).copied().unwrap_or_default()))
    }

    async fn set_removal_state(&mut self, token: &ScimTokenId, state: &RemovalState) -> StoreResult<()> {
        self.states.insert(token.clone(), *state);
        Ok(())
    }

    async fn record_removal(&mut self, token: &ScimTokenId, user: &UserId, at: Timestamp) -> StoreResult<()> {
        self.removed.insert((token.clone(), user.clone()), at);
        Ok(())
    }

    async fn count_removals(
        &mut self,
        token: &ScimTokenId,
        user: &UserId,
        since: Timestamp,
    ) -> StoreResult<u64> {
        let counts = |((of, other), at): &(&(ScimTokenId, UserId), &Timestamp)| {
            of == token && other != user && **at > since
        };
        Ok(self.removed.iter().filter(counts).count() as u64)
    }

    async fn forget_removals(&mut self, token: &ScimTokenId) -> StoreResult<()> {
        self.removed.retain(|(of, _), _| of != token);
        Ok(())
    }

    async fn count_active_users(&mut self, created_before: Timestamp) -> StoreResult<u64> {
        Ok(self.active.values().filter(|created| **created < created_before).count() as u64)
    }

    async fn hold_removal(&mut self, token: &ScimTokenId, held: &HeldRemoval) -> StoreResult<()> {
        let key = (token.clone(), held.user.clone());
        let earlier = self.held.entry(key).or_insert_with(|| held.clone());
        if earlier.kind < held.kind {
            *earlier = held.clone();
        }
        Ok(())
    }

    async fn held_removals(
        &mut self,
        token: &ScimTokenId,
        after: Option<&UserId>,
        count: u32,
    ) -> StoreResult<Vec<HeldRemoval>> {
        let of = self.held.iter().filter(|((of, user), _)| of == token && after.is_none_or(|id| user > id));
        Ok(of.map(|(_, held)| held.clone()).take(count as usize).collect())
    }

    async fn count_held_removals(&mut self, token: &ScimTokenId) -> StoreResult<u64> {
        Ok(self.held.keys().filter(|(of, _)| of == token).count() as u64)
    }

    async fn drop_held_removal(&mut self, token: &ScimTokenId, user: &UserId) -> StoreResult<()> {
        self.held.remove(&(token.clone(), user.clone()));
        Ok(())
    }

    async fn drop_held_removals(&mut self, token: &ScimTokenId) -> StoreResult<()> {
        self.held.retain(|(of, _), _| of != token);
        Ok(())
    }
}
