//! In-memory storage of sessions for tests and examples.

use std::collections::BTreeMap;

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{
    device_bound::DeviceBinding,
    session::{Session, SessionId},
    store::{DeviceSessionStore, SessionStore},
};

/// The sessions of one tenant in memory.
#[derive(Debug, Clone, Default)]
pub struct MemorySessions {
    sessions: Vec<Session>,
    refused_until: BTreeMap<String, Timestamp>,
}

#[async_trait]
impl SessionStore for MemorySessions {
    async fn insert_session(&mut self, session: &Session) -> StoreResult<bool> {
        let is_taken =
            session.foreign.is_some() && self.sessions.iter().any(|row| row.foreign == session.foreign);
        if !is_taken {
            self.sessions.push(session.clone());
        }
        Ok(!is_taken)
    }

    async fn session(&mut self, id: &SessionId) -> StoreResult<Option<Session>> {
        Ok(self.sessions.iter().find(|row| row.id == *id).cloned())
    }

    async fn sessions_of(&mut self, user: &UserId) -> StoreResult<Vec<Session>> {
        let live = self.sessions.iter().filter(|row| row.user == *user && row.revoked_at.is_none());
        let mut live: Vec<_> = live.cloned().collect();
        live.sort_by_key(|row| std::cmp::Reverse(row.last_seen_at));
        Ok(live)
    }

    async fn update_session(&mut self, session: &Session) -> StoreResult<()> {
        if let Some(row) = self.sessions.iter_mut().find(|row| row.id == session.id) {
            row.clone_from(session);
        }
        Ok(())
    }

    async fn rename_session(&mut self, id: &SessionId, new: &SessionId, _: Timestamp) -> StoreResult<()> {
        for row in self.sessions.iter_mut().filter(|row| row.id == *id) {
            row.id = new.clone();
        }
        Ok(())
    }

    async fn revoke_session(&mut self, id: &SessionId, at: Timestamp) -> StoreResult<bool> {
        let row = self.sessions.iter_mut().find(|row| row.id == *id && row.revoked_at.is_none());
        Ok(row.map(|row| row.revoked_at = Some(at)).is_some())
    }

    async fn refused_until(&mut self, user: &UserId) -> StoreResult<Option<Timestamp>> {
        Ok(self.refused_until.get(user.as_str()).copied())
    }

    async fn refuse_tokens_until(&mut self, user: &UserId, until: Timestamp) -> StoreResult<()> {
        let latest = self.refused_until.get(user.as_str()).map_or(until, |known| until.max(*known));
        self.refused_until.insert(user.to_string(), latest);
        Ok(())
    }

    async fn revoke_sessions(
        &mut self,
        user: &UserId,
        at: Timestamp,
        except: Option<&SessionId>,
    ) -> StoreResult<u64> {
        self.refused_until.insert(user.to_string(), at);
        let is_live =
            |row: &&mut Session| row.user == *user && Some(&row.id) != except && row.revoked_at.is_none();
        let mut count = 0;
        for row in self.sessions.iter_mut().filter(is_live) {
            row.revoked_at = Some(at);
            count += 1;
        }
        Ok(count)
    }
}

#[async_trait]
impl DeviceSessionStore for MemorySessions {
    async fn session_of_key(&mut self, thumbprint: &[u8; 32]) -> StoreResult<Option<Session>> {
        let has_key =
            |row: &&Session| row.device.as_ref().is_some_and(|device| device.key.thumbprint() == *thumbprint);
        Ok(self.sessions.iter().find(has_key).cloned())
    }

    async fn set_device(&mut self, id: &SessionId, binding: &DeviceBinding) -> StoreResult<()> {
        for row in self.sessions.iter_mut().filter(|row| row.id == *id) {
            row.device = Some(binding.clone());
        }
        Ok(())
    }
}
