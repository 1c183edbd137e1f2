//! What the rules need of storage.

use async_trait::async_trait;
use kernel::{StoreError, TenantId, Timestamp, UserId};
use serde_json::Value;

use crate::{
    ClaimedRequest, ConnectionTest, ConnectionTestId, EmailDomain, PinnedSubject, Provider, ProviderId,
    Request, RequestId, Subject, VerifiedDomain,
};

/// Where one tenant's providers are kept.
#[async_trait]
pub trait ProviderStore: Send {
    /// All of them, the oldest first.
    async fn providers(&mut self) -> Result<Vec<Provider>, StoreError>;
    /// The one of this id. In a unit of work that changes, nobody else changes it before the end.
    async fn provider(&mut self, id: &ProviderId) -> Result<Option<Provider>, StoreError>;
    /// How many there are. In a unit of work that changes, nobody else adds one before the end.
    async fn count_providers(&mut self) -> Result<usize, StoreError>;
    /// Which of the tenant's providers speaks for a domain.
    async fn provider_of_domain(&mut self, domain: &EmailDomain) -> Result<Option<ProviderId>, StoreError>;
    /// Keeps a new one with its domains.
    async fn insert_provider(&mut self, provider: &Provider) -> Result<(), StoreError>;
    /// Keeps a changed one with its domains.
    async fn update_provider(&mut self, provider: &Provider) -> Result<(), StoreError>;
    /// Removes one, with its domains, requests, trials and remembered assertions; `false` if there is none.
    async fn delete_provider(&mut self, id: &ProviderId) -> Result<bool, StoreError>;
}

/// Where domains that were proved are kept: one owner each, over all tenants.
#[async_trait]
pub trait DomainStore: Send {
    /// This tenant's, by name.
    async fn verified_domains(&mut self) -> Result<Vec<VerifiedDomain>, StoreError>;
    /// Whose it is.
    async fn domain_owner(&mut self, domain: &EmailDomain) -> Result<Option<TenantId>, StoreError>;
    /// Keeps it as this tenant's; `false` if it is somebody's already, this tenant's own included.
    async fn insert_verified_domain(&mut self, domain: &VerifiedDomain) -> Result<bool, StoreError>;
    /// Gives it up; `false` if it is not this tenant's.
    async fn delete_verified_domain(&mut self, domain: &EmailDomain) -> Result<bool, StoreError>;
}

/// Where pinned NameIDs are stored. A user has one at a provider, and a NameID belongs to one user there.
#[async_trait]
pub trait SubjectStore: Send {
    /// Returns what is pinned to a user, by provider.
    async fn pinned_subjects(&mut self, user: &UserId) -> Result<Vec<PinnedSubject>, StoreError>;
    /// Returns the user that a NameID is pinned to.
    async fn subject_owner(
        &mut self,
        provider: &ProviderId,
        subject: &Subject,
    ) -> Result<Option<UserId>, StoreError>;
    /// Pins a NameID; `false` if the user has one there, or the NameID another user.
    async fn pin_subject(&mut self, user: &UserId, pinned: &PinnedSubject) -> Result<bool, StoreError>;
    /// Removes what is pinned to a user at a provider; `false` if nothing is.
    async fn unpin_subject(&mut self, provider: &ProviderId, user: &UserId) -> Result<bool, StoreError>;
}

/// Where requests and used assertions of one tenant are kept.
#[async_trait]
pub trait RequestStore: Send {
    /// Keeps a new one.
    async fn insert_request(&mut self, request: &Request) -> Result<(), StoreError>;
    /// A request that may still be answered, for checks that need to know what was asked. Claims nothing.
    async fn request(&mut self, id: &RequestId) -> Result<Option<Request>, StoreError>;
    /// Claims it for one answer: of all that try at once one gets [`ClaimedRequest::Now`]. Only if it is this provider's, was
    /// begun in this browser (SHA-256 of what that keeps) and is not over.
    async fn claim_request(
        &mut self,
        id: &RequestId,
        provider: &ProviderId,
        browser: Option<&[u8; 32]>,
        now: Timestamp,
    ) -> Result<ClaimedRequest, StoreError>;
    /// Remembers that an assertion (SHA-256 of its ID) was used, until it is over by itself; `false` if it was
    /// remembered already.
    async fn remember_assertion(
        &mut self,
        provider: &ProviderId,
        assertion: &[u8; 32],
        until: Timestamp,
    ) -> Result<bool, StoreError>;
}

/// Where trials of one tenant are kept.
#[async_trait]
pub trait ConnectionTestStore: Send {
    /// Keeps a new one.
    async fn insert_connection_test(&mut self, trial: &ConnectionTest) -> Result<(), StoreError>;
    /// The one of this id, over or not.
    async fn connection_test(&mut self, id: &ConnectionTestId) -> Result<Option<ConnectionTest>, StoreError>;
    /// Keeps what came of it, if nothing has yet: whether it did so.
    async fn report_connection_test(
        &mut self,
        id: &ConnectionTestId,
        report: &Value,
    ) -> Result<bool, StoreError>;
}
