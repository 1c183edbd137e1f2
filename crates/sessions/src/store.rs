//! What the rules need of storage.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::session::{Session, SessionId};

/// Where one tenant's sessions are kept.
#[async_trait]
pub trait SessionStore: Send {
    /// Keeps a new session; `false` when there is one for the same foreign token.
    async fn insert_session(&mut self, session: &Session) -> StoreResult<bool>;
    /// The session of this id, revoked or not, held until the end of the unit of work.
    async fn session(&mut self, id: &SessionId) -> StoreResult<Option<Session>>;
    /// A person's sessions that are not revoked, newest activity first.
    async fn sessions_of(&mut self, user: &UserId) -> StoreResult<Vec<Session>>;
    /// Writes standing, proofs, grace, device, location, and when and from where it was seen.
    async fn update_session(&mut self, session: &Session) -> StoreResult<()>;
    /// Gives a session another id, under which alone it is found from now on. Its unused step-up tokens are revoked.
    async fn rename_session(&mut self, id: &SessionId, new: &SessionId, at: Timestamp) -> StoreResult<()>;
    /// Marks a session revoked unless it is already; tells whether it changed.
    async fn revoke_session(&mut self, id: &SessionId, at: Timestamp) -> StoreResult<bool>;
    /// Until when foreign tokens of the person are refused that have no row.
    async fn refused_until(&mut self, user: &UserId) -> StoreResult<Option<Timestamp>>;
    /// Marks all of a person's sessions revoked but one, ends sign-ins that are under way, and refuses foreign
    /// tokens issued until then, also those that have no row; tells how many rows changed.
    async fn revoke_sessions(
        &mut self,
        user: &UserId,
        at: Timestamp,
        except: Option<&SessionId>,
    ) -> StoreResult<u64>;
}
