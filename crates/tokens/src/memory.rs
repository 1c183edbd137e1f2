//! In-memory storage of tokens for tests and examples.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{
    pat::{Pat, PatId},
    scim::{ScimToken, ScimTokenId},
    store::{PatStore, ScimTokenStore},
};

/// The tokens of one tenant in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryTokens {
    pats: Vec<Pat>,
    scim: Vec<ScimToken>,
}

#[async_trait]
impl PatStore for MemoryTokens {
    async fn insert_pat(&mut self, token: &Pat) -> StoreResult<()> {
        self.pats.push(token.clone());
        Ok(())
    }

    async fn pats_of(&mut self, user: &UserId) -> StoreResult<Vec<Pat>> {
        let live = self.pats.iter().filter(|token| token.user == *user && token.revoked_at.is_none());
        let mut live: Vec<_> = live.cloned().collect();
        live.sort_by(|one, other| other.id.cmp(&one.id));
        Ok(live)
    }

    async fn pat(&mut self, id: &PatId) -> StoreResult<Option<Pat>> {
        Ok(self.pats.iter().find(|token| token.id == *id).cloned())
    }

    async fn revoke_pat(&mut self, id: &PatId, at: Timestamp) -> StoreResult<bool> {
        let token = self.pats.iter_mut().find(|token| token.id == *id && token.revoked_at.is_none());
        Ok(token.map(|token| token.revoked_at = Some(at)).is_some())
    }
}

#[async_trait]
impl ScimTokenStore for MemoryTokens {
    async fn insert_scim_token(&mut self, token: &ScimToken) -> StoreResult<()> {
        self.scim.push(token.clone());
        Ok(())
    }

    async fn scim_token(&mut self, id: &ScimTokenId) -> StoreResult<Option<ScimToken>> {
        Ok(self.scim.iter().find(|token| token.id == *id).cloned())
    }

    async fn scim_tokens(&mut self) -> StoreResult<Vec<ScimToken>> {
        let mut live: Vec<_> = self.scim.iter().filter(|token| token.revoked_at.is_none()).cloned().collect();
        live.sort_by(|one, other| other.id.cmp(&one.id));
        Ok(live)
    }

    async fn revoke_scim_token(&mut self, id: &ScimTokenId, at: Timestamp) -> StoreResult<bool> {
        let token = self.scim.iter_mut().find(|token| token.id == *id && token.revoked_at.is_none());
        Ok(token.map(|token| token.revoked_at = Some(at)).is_some())
    }
}
