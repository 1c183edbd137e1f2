//! The session at an identity provider that a session was started through, so that the provider can end it.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};
use saml_sp::ProviderId;
use serde::{Deserialize, Serialize};
use sessions::SessionId;

/// A session at an identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderSession {
    /// The identity provider.
    pub provider: ProviderId,
    /// SHA-256 of the provider's identifier of the user.
    pub subject: [u8; 32],
    /// SHA-256 of the provider's identifier of the session, if it has named one.
    pub session: Option<[u8; 32]>,
    /// The ID token of the sign-in, sealed, to send as `id_token_hint`; `None` if users are not signed out there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logout_hint: Option<String>,
}

/// Which sessions an identity provider ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedAtProvider {
    /// One session at the provider, of this user if the provider has named one.
    Session {
        /// See [`ProviderSession::session`].
        session: [u8; 32],
        /// See [`ProviderSession::subject`].
        subject: Option<[u8; 32]>,
    },
    /// All sessions of a user.
    Subject([u8; 32]),
}

/// The sessions of one tenant by their sessions at identity providers.
#[async_trait]
pub trait ProviderSessionStore: Send {
    /// Stores the session at the provider that this session was started through.
    async fn set_provider_session(&mut self, id: &SessionId, at: &ProviderSession) -> StoreResult<()>;
    /// Returns the session at the provider that a session was started through.
    async fn provider_session(&mut self, id: &SessionId) -> StoreResult<Option<ProviderSession>>;
    /// Returns the users with sessions that a provider ends, in the order of their IDs. Considers 10,000 sessions.
    async fn users_at_provider(
        &mut self,
        provider: &ProviderId,
        ended: &EndedAtProvider,
    ) -> StoreResult<Vec<UserId>>;
    /// Revokes the sessions that a provider ends and that were created after `since`, with their step-up challenges and
    /// tokens. Returns those sessions.
    async fn revoke_at_provider(
        &mut self,
        provider: &ProviderId,
        ended: &EndedAtProvider,
        since: Timestamp,
        at: Timestamp,
    ) -> StoreResult<Vec<(SessionId, UserId)>>;
    /// Remembers until `until` that the provider has ended its session with this hash. Waits for units of work in progress that
    /// have called [`Self::has_ended`] for it.
    async fn remember_ended(
        &mut self,
        provider: &ProviderId,
        session: &[u8; 32],
        until: Timestamp,
    ) -> StoreResult<()>;
    /// Returns whether [`Self::remember_ended`] was called for the session, also by a unit of work in progress.
    async fn has_ended(&mut self, provider: &ProviderId, session: &[u8; 32]) -> StoreResult<bool>;
}
