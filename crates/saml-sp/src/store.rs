//! What the rules need of storage.

use async_trait::async_trait;
use kernel::{StoreResult, TenantId, Timestamp, UserId};
use serde_json::Value;

use crate::{
    ClaimedRequest, ConnectionTest, ConnectionTestId, EmailDomain, PinnedSubject, Provider, ProviderId,
    Request, RequestId, Subject, VerifiedDomain,
};

/// Where one tenant's providers are kept.
#[async_trait]
pub trait ProviderStore: Send {
    /// All of them, the oldest first.
    async fn providers(&mut self) -> StoreResult<Vec<Provider>>;
    /// The one of this id. In a unit of work that changes, nobody else changes it before the end.
    async fn provider(&mut self, id: &ProviderId) -> StoreResult<Option<Provider>>;
    /// How many there are. In a unit of work that changes, nobody else adds one before the end.
    async fn count_providers(&mut self) -> StoreResult<usize>;
    /// Which of the tenant's providers speaks for a domain.
    async fn provider_of_domain(&mut self, domain: &EmailDomain) -> StoreResult<Option<ProviderId>>;
    /// Keeps a new one with its domains.
    async fn insert_provider(&mut self, provider: &Provider) -> StoreResult<()>;
    /// Keeps a changed one with its domains.
    async fn update_provider(&mut self, provider: &Provider) -> StoreResult<()>;
    /// Removes one, with its domains, requests, trials and remembered assertions; `false` if there is none.
    async fn delete_provider(&mut self, id: &ProviderId) -> StoreResult<bool>;
}

/// Where domains that were proved are kept: one owner each, over all tenants.
#[async_trait]
pub trait DomainStore: Send {
    /// This tenant's, by name.
    async fn verified_domains(&mut self) -> StoreResult<Vec<VerifiedDomain>>;
    /// Whose it is.
    async fn domain_owner(&mut self, domain: &EmailDomain) -> StoreResult<Option<TenantId>>;
    /// Keeps it as this tenant's; `false` if it is somebody's already, this tenant's own included.
    async fn insert_verified_domain(&mut self, domain: &VerifiedDomain) -> StoreResult<bool>;
    /// Gives it up; `false` if it is not this tenant's.
    async fn delete_verified_domain(&mut self, domain: &EmailDomain) -> StoreResult<bool>;
}

/// Where pinned NameIDs are stored. A user has one at a provider, and a NameID belongs to one user there.
#[async_trait]
pub trait SubjectStore: Send {
    /// Returns what is pinned to a user, by provider.
    async fn pinned_subjects(&mut self, user: &UserId) -> StoreResult<Vec<PinnedSubject>>;
    /// Returns the user that a NameID is pinned to.
    async fn subject_owner(
        &mut self,
        provider: &ProviderId,
        subject: &Subject,
    ) -> StoreResult<Option<UserId>>;
    /// Pins a NameID; `false` if the user has one there, or the NameID another user.
    async fn pin_subject(&mut self, user: &UserId, pinned: &PinnedSubject) -> StoreResult<bool>;
    /// Removes what is pinned to a user at a provider; `false` if nothing is.
    async fn unpin_subject(&mut self, provider: &ProviderId, user: &UserId) -> StoreResult<bool>;
}

/// Where requests and used assertions of one tenant are kept.
#[async_trait]
pub trait RequestStore: Send {
    /// Keeps a new one.
    async fn insert_request(&mut self, request: &Request) -> StoreResult<()>;
    /// A request that may still be answered, for checks that need to know what was asked. Claims nothing.
    async fn request(&mut self, id: &RequestId) -> StoreResult<Option<Request>>;
    /// Claims it for one answer: of all that try at once one gets [`ClaimedRequest::Now`]. Only if it is this provider's, was
    /// begun in this browser (SHA-256 of what that keeps) and is not over.
    async fn claim_request(
        &mut self,
        id: &RequestId,
        provider: &ProviderId,
        browser: Option<&[u8; 32]>,
        now: Timestamp,
    ) -> StoreResult<ClaimedRequest>;
    /// Remembers that an assertion (SHA-256 of its ID) was used, until it is over by itself; `false` if it was
    /// remembered already.
    async fn remember_assertion(
        &mut self,
        provider: &ProviderId,
        assertion: &[u8; 32],
        until: Timestamp,
    ) -> StoreResult<bool>;
}

/// Where trials of one tenant are kept.
#[async_trait]
pub trait ConnectionTestStore: Send {
    /// Keeps a new one.
    async fn insert_connection_test(&mut self, trial: &ConnectionTest) -> StoreResult<()>;
    /// The one of this id, over or not.
    async fn connection_test(&mut self, id: &ConnectionTestId) -> StoreResult<Option<ConnectionTest>>;
    /// Keeps what came of it, if nothing has yet: whether it did so.
    async fn report_connection_test(&mut self, id: &ConnectionTestId, report: &Value) -> StoreResult<bool>;
}
