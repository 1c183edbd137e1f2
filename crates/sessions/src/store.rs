//! The storage that the rules need.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{
    device_bound::DeviceBinding,
    session::{Session, SessionId},
};

/// Stores one tenant's sessions.
#[async_trait]
pub trait SessionStore: Send {
    /// Inserts a session. Returns `false` if one with the same neighbour's token exists.
    async fn insert_session(&mut self, session: &Session) -> StoreResult<bool>;
    /// Returns the session with this id, even if it is revoked, and locks it until the end of the unit of work.
    async fn session(&mut self, id: &SessionId) -> StoreResult<Option<Session>>;
    /// Returns a user's sessions that are not revoked, most recently used first.
    async fn sessions_of(&mut self, user: &UserId) -> StoreResult<Vec<Session>>;
    /// Updates standing, methods, grace, device, location, and the time and address of last use.
    async fn update_session(&mut self, session: &Session) -> StoreResult<()>;
    /// Replaces the id of a session and revokes its unused step-up tokens.
    async fn rename_session(&mut self, id: &SessionId, new: &SessionId, at: Timestamp) -> StoreResult<()>;
    /// Revokes a session. Returns `false` if it was revoked before.
    async fn revoke_session(&mut self, id: &SessionId, at: Timestamp) -> StoreResult<bool>;
    /// Returns the time until which neighbours' tokens of this user without a row are refused.
    async fn refused_until(&mut self, user: &UserId) -> StoreResult<Option<Timestamp>>;
    /// Refuses neighbours' tokens of this user without a row that were issued until `until`, unless later ones are refused
    /// already.
    async fn refuse_tokens_until(&mut self, user: &UserId, until: Timestamp) -> StoreResult<()>;
    /// Revokes all of a user's sessions except one and ends pending sign-ins. Refuses neighbours' tokens issued until
    /// now, even those without a row. Returns the number of changed rows.
    async fn revoke_sessions(
        &mut self,
        user: &UserId,
        at: Timestamp,
        except: Option<&SessionId>,
    ) -> StoreResult<u64>;
}

/// Stores the keys that sessions are bound to.
#[async_trait]
pub trait DeviceSessionStore: SessionStore {
    /// Returns the session that is bound to the key with this thumbprint, even if it is revoked, and locks it until the end
    /// of the unit of work.
    async fn session_of_key(&mut self, thumbprint: &[u8; 32]) -> StoreResult<Option<Session>>;
    /// Stores the key of a session.
    async fn set_device(&mut self, id: &SessionId, binding: &DeviceBinding) -> StoreResult<()>;
}
