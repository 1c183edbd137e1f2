//! In-memory storage of personal access tokens for tests and examples.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{
    pat::{Pat, PatId},
    store::PatStore,
};

/// The personal access tokens of one tenant in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryPats(Vec<Pat>);

#[async_trait]
impl PatStore for MemoryPats {
    async fn insert_pat(&mut self, token: &Pat) -> StoreResult<()> {
        self.0.push(token.clone());
        Ok(())
    }

    async fn pats_of(&mut self, user: &UserId) -> StoreResult<Vec<Pat>> {
        let live = self.0.iter().filter(|token| token.user == *user && token.revoked_at.is_none());
        Ok(live.rev().cloned().collect())
    }

    async fn pat(&mut self, id: &PatId) -> StoreResult<Option<Pat>> {
        Ok(self.0.iter().find(|token| token.id == *id).cloned())
    }

    async fn revoke_pat(&mut self, id: &PatId, at: Timestamp) -> StoreResult<bool> {
        let token = self.0.iter_mut().find(|token| token.id == *id && token.revoked_at.is_none());
        Ok(token.map(|token| token.revoked_at = Some(at)).is_some())
    }
}
