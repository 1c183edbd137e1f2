//! The storage traits.

use async_trait::async_trait;
use kernel::{StoreResult, TenantId, Timestamp, UserId};

use crate::{
    ClaimedRequest, ConnectionTest, ConnectionTestId, DomainRecheck, EmailDomain, PinnedSubject, Provider,
    ProviderId, Request, RequestId, Subject, TestReport, VerifiedDomain,
};

/// The providers of one tenant.
#[async_trait]
pub trait ProviderStore: Send {
    /// Returns all providers, oldest first.
    async fn providers(&mut self) -> StoreResult<Vec<Provider>>;
    /// Returns the provider with this id. A writing transaction locks it until its end.
    async fn provider(&mut self, id: &ProviderId) -> StoreResult<Option<Provider>>;
    /// Returns the number of SSO connections of all protocols. A writing transaction locks the list until its end.
    async fn count_providers(&mut self) -> StoreResult<usize>;
    /// Returns the tenant's SSO connection for a domain, of any protocol.
    async fn provider_of_domain(&mut self, domain: &EmailDomain) -> StoreResult<Option<ProviderId>>;
    /// Returns the domains of all SSO connections, of any protocol, with the connection of each.
    async fn domains_of_providers(&mut self) -> StoreResult<Vec<(EmailDomain, ProviderId)>>;
    /// Inserts a provider with its domains.
    async fn insert_provider(&mut self, provider: &Provider) -> StoreResult<()>;
    /// Updates a provider with its domains.
    async fn update_provider(&mut self, provider: &Provider) -> StoreResult<()>;
    /// Deletes a provider with its domains, requests, connection tests and remembered assertions; `false` if there is
    /// none.
    async fn delete_provider(&mut self, id: &ProviderId) -> StoreResult<bool>;
}

/// Verified domains. A domain has one owner among all tenants.
#[async_trait]
pub trait DomainStore: Send {
    /// Returns this tenant's domains, by name.
    async fn verified_domains(&mut self) -> StoreResult<Vec<VerifiedDomain>>;
    /// Returns the tenant that has verified the domain.
    async fn domain_owner(&mut self, domain: &EmailDomain) -> StoreResult<Option<TenantId>>;
    /// Records a domain as verified by this tenant; `false` if any tenant, including this one, already has it.
    async fn insert_verified_domain(&mut self, domain: &VerifiedDomain) -> StoreResult<bool>;
    /// Releases a domain; `false` if this tenant does not have it.
    async fn delete_verified_domain(&mut self, domain: &EmailDomain) -> StoreResult<bool>;
    /// Stores the state of the check of a domain's DNS record; `false` if this tenant does not have the domain.
    async fn reschedule_domain(&mut self, domain: &EmailDomain, next: &DomainRecheck) -> StoreResult<bool>;
}

/// Pinned NameIDs. A user has at most one per provider, and a NameID belongs to one user of the provider.
#[async_trait]
pub trait SubjectStore: Send {
    /// Returns the pinned NameIDs of a user, by provider.
    async fn pinned_subjects(&mut self, user: &UserId) -> StoreResult<Vec<PinnedSubject>>;
    /// Returns the user that a NameID is pinned to.
    async fn subject_owner(
        &mut self,
        provider: &ProviderId,
        subject: &Subject,
    ) -> StoreResult<Option<UserId>>;
    /// Pins a NameID; `false` if the user already has one at the provider, or the NameID belongs to another user.
    async fn pin_subject(&mut self, user: &UserId, pinned: &PinnedSubject) -> StoreResult<bool>;
    /// Removes the pinned NameID of a user at a provider; `false` if there is none.
    async fn unpin_subject(&mut self, provider: &ProviderId, user: &UserId) -> StoreResult<bool>;
}

/// Requests and used assertions of one tenant.
#[async_trait]
pub trait RequestStore: Send {
    /// Inserts a request.
    async fn insert_request(&mut self, request: &Request) -> StoreResult<()>;
    /// Returns a request that can still be answered, without claiming it.
    async fn request(&mut self, id: &RequestId) -> StoreResult<Option<Request>>;
    /// Claims a request for one response; of concurrent calls, only one returns [`ClaimedRequest::Now`]. The request
    /// must be of this provider, started in this browser (SHA-256 of its secret) and not expired.
    async fn claim_request(
        &mut self,
        id: &RequestId,
        provider: &ProviderId,
        browser: Option<&[u8; 32]>,
        now: Timestamp,
    ) -> StoreResult<ClaimedRequest>;
    /// Remembers an assertion (SHA-256 of its ID) until it expires; `false` if it was already used.
    async fn remember_assertion(
        &mut self,
        provider: &ProviderId,
        assertion: &[u8; 32],
        until: Timestamp,
    ) -> StoreResult<bool>;
}

/// Connection tests of one tenant.
#[async_trait]
pub trait ConnectionTestStore: Send {
    /// Inserts a connection test.
    async fn insert_connection_test(&mut self, trial: &ConnectionTest) -> StoreResult<()>;
    /// Returns the connection test with this id, even if it has expired.
    async fn connection_test(&mut self, id: &ConnectionTestId) -> StoreResult<Option<ConnectionTest>>;
    /// Stores the result unless there already is one; returns whether it was stored.
    async fn report_connection_test(
        &mut self,
        id: &ConnectionTestId,
        report: &TestReport,
    ) -> StoreResult<bool>;
}
