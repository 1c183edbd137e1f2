//! The storage of SSO connections with OpenID Connect and of pending requests.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp};
use saml_sp::{ClaimedRequest, ProviderId};

use super::{provider::OidcProvider, request::OidcRequest};

/// The OpenID providers of one tenant, and requests that wait for their answer.
#[async_trait]
pub trait OidcStore: Send {
    /// Returns all providers, oldest first.
    async fn oidc_providers(&mut self) -> StoreResult<Vec<OidcProvider>>;
    /// Returns the provider with this id. A writing transaction locks it until its end.
    async fn oidc_provider(&mut self, id: &ProviderId) -> StoreResult<Option<OidcProvider>>;
    /// Returns the provider with this id, as it is committed, without a lock.
    async fn current_oidc_provider(&mut self, id: &ProviderId) -> StoreResult<Option<OidcProvider>>;
    /// Removes the pinned subjects of all users at a provider.
    async fn unpin_subjects_of_provider(&mut self, id: &ProviderId) -> StoreResult<()>;
    /// Inserts a provider with its domains.
    async fn insert_oidc_provider(&mut self, provider: &OidcProvider) -> StoreResult<()>;
    /// Updates a provider with its domains.
    async fn update_oidc_provider(&mut self, provider: &OidcProvider) -> StoreResult<()>;
    /// Deletes a provider with its domains, requests, connection tests and pinned subjects; `false` if there is none.
    async fn delete_oidc_provider(&mut self, id: &ProviderId) -> StoreResult<bool>;
    /// Inserts a request.
    async fn insert_oidc_request(&mut self, request: &OidcRequest) -> StoreResult<()>;
    /// Claims a request, by the SHA-256 of its state, for one answer; of concurrent calls, only one returns
    /// [`ClaimedRequest::Now`]. The request must be of this provider, started in this browser (SHA-256 of its secret) and
    /// not expired.
    async fn claim_oidc_request(
        &mut self,
        state: &[u8; 32],
        provider: &ProviderId,
        browser: Option<&[u8; 32]>,
        now: Timestamp,
    ) -> StoreResult<ClaimedRequest<OidcRequest>>;
}
