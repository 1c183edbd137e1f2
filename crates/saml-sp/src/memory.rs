//! In-memory storage, for tests and for services that run as a single process.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use kernel::{StoreError, StoreResult, TenantId, Timestamp, UniqueKey, UserId};

use crate::{
    connection_test::{ConnectionTest, ConnectionTestId},
    domain::{EmailDomain, VerifiedDomain},
    id::ProviderId,
    ownership::DomainRecheck,
    provider::Provider,
    request::{ClaimedRequest, Request, RequestId},
    store::{ConnectionTestStore, DomainStore, ProviderStore, RequestStore, SubjectStore},
    subject::{PinnedSubject, Subject},
    test_report::TestReport,
};

/// Stores one tenant's data in memory. Clones share the data.
///
/// Each call is atomic, but there are no transactions: changes cannot be rolled back.
#[derive(Clone)]
pub struct MemoryStore {
    tenant: TenantId,
    all: Arc<Mutex<Tenants>>,
}

/// The data of all tenants.
#[derive(Default)]
struct Tenants {
    by_id: BTreeMap<TenantId, TenantData>,
    domains: BTreeMap<EmailDomain, (TenantId, VerifiedDomain)>,
    rechecks: BTreeMap<EmailDomain, DomainRecheck>,
}

/// The data of one tenant.
#[derive(Default)]
struct TenantData {
    providers: BTreeMap<ProviderId, Provider>,
    requests: BTreeMap<RequestId, StoredRequest>,
    assertions: BTreeMap<(ProviderId, [u8; 32]), Timestamp>,
    trials: BTreeMap<ConnectionTestId, ConnectionTest>,
    subjects: BTreeMap<(ProviderId, UserId), PinnedSubject>,
}

struct StoredRequest {
    request: Request,
    is_claimed: bool,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new(tenant: &TenantId) -> Self {
        Self { tenant: tenant.clone(), all: Arc::default() }
    }

    /// Returns a view of the same memory for another tenant. Only the ownership of domains is shared.
    #[must_use]
    pub fn for_tenant(&self, tenant: &TenantId) -> Self {
        Self { tenant: tenant.clone(), all: Arc::clone(&self.all) }
    }

    /// Removes the tenant's expired requests, connection tests and used assertions. Call it periodically.
    pub fn purge_expired(&self, now: Timestamp) {
        self.with(|inner| {
            inner.requests.retain(|_, kept| now < kept.request.expires_at);
            inner.trials.retain(|_, trial| now < trial.expires_at);
            inner.assertions.retain(|_, until| now < *until);
        });
    }

    fn all(&self) -> MutexGuard<'_, Tenants> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, work: impl FnOnce(&mut TenantData) -> T) -> T {
        work(self.all().by_id.entry(self.tenant.clone()).or_default())
    }
}

impl TenantData {
    /// Returns the user that a NameID is pinned to.
    fn owner(&self, provider: &ProviderId, subject: &Subject) -> Option<UserId> {
        let same = |((at, _), pinned): &(&(ProviderId, UserId), &PinnedSubject)| {
            at == provider && pinned.subject == *subject
        };
        self.subjects.iter().find(same).map(|((_, user), _)| user.clone())
    }

    /// Returns an error if another provider of the tenant has one of these domains.
    fn domain_conflict(&self, provider: &Provider) -> Option<StoreError> {
        let others = self.providers.values().filter(|other| other.id != provider.id);
        let theirs: BTreeSet<_> = others.flat_map(|other| &other.email_domains).collect();
        let taken = provider.email_domains.iter().find(|domain| theirs.contains(domain))?;
        Some(StoreError::Taken(UniqueKey::Other(taken.to_string())))
    }
}

#[async_trait]
impl ProviderStore for MemoryStore {
    async fn providers(&mut self) -> StoreResult<Vec<Provider>> {
        Ok(self.with(|inner| inner.providers.values().cloned().collect()))
    }

    async fn provider(&mut self, id: &ProviderId) -> StoreResult<Option<Provider>> {
        Ok(self.with(|inner| inner.providers.get(id).cloned()))
    }

    async fn count_providers(&mut self) -> StoreResult<usize> {
        Ok(self.with(|inner| inner.providers.len()))
    }

    async fn provider_of_domain(&mut self, domain: &EmailDomain) -> StoreResult<Option<ProviderId>> {
        Ok(self.with(|inner| {
            let speaks = |provider: &&Provider| provider.email_domains.contains(domain);
            inner.providers.values().find(speaks).map(|provider| provider.id.clone())
        }))
    }

    async fn domains_of_providers(&mut self) -> StoreResult<Vec<(EmailDomain, ProviderId)>> {
        Ok(self.with(|inner| {
            let of = |provider: &Provider| {
                let id = provider.id.clone();
                let domains = provider.email_domains.clone();
                domains.into_iter().map(move |domain| (domain, id.clone()))
            };
            inner.providers.values().flat_map(of).collect()
        }))
    }

    async fn insert_provider(&mut self, provider: &Provider) -> StoreResult<()> {
        if provider.id.tenant().as_ref() != Some(&self.tenant) {
            return Err(StoreError::Aborted("the SSO connection belongs to another tenant"));
        }
        self.with(|inner| match inner.domain_conflict(provider) {
            Some(error) => Err(error),
            None if inner.providers.contains_key(&provider.id) => {
                Err(StoreError::Taken(UniqueKey::Other(provider.id.to_string())))
            }
            None => {
                inner.providers.insert(provider.id.clone(), provider.clone());
                Ok(())
            }
        })
    }

    async fn update_provider(&mut self, provider: &Provider) -> StoreResult<()> {
        self.with(|inner| {
            if let Some(error) = inner.domain_conflict(provider) {
                return Err(error);
            }
            let Some(kept) = inner.providers.get_mut(&provider.id) else {
                return Err(StoreError::Aborted("the SSO connection does not exist"));
            };
            *kept = provider.clone();
            Ok(())
        })
    }

    async fn delete_provider(&mut self, id: &ProviderId) -> StoreResult<bool> {
        Ok(self.with(|inner| {
            inner.requests.retain(|_, kept| kept.request.provider != *id);
            inner.assertions.retain(|(provider, _), _| provider != id);
            inner.trials.retain(|_, trial| trial.provider != *id);
            inner.subjects.retain(|(provider, _), _| provider != id);
            inner.providers.remove(id).is_some()
        }))
    }
}

#[async_trait]
impl RequestStore for MemoryStore {
    async fn insert_request(&mut self, request: &Request) -> StoreResult<()> {
        let kept = StoredRequest { request: request.clone(), is_claimed: false };
        self.with(|inner| inner.requests.insert(request.id.clone(), kept));
        Ok(())
    }

    async fn request(&mut self, id: &RequestId) -> StoreResult<Option<Request>> {
        Ok(self.with(|inner| {
            inner.requests.get(id).filter(|kept| !kept.is_claimed).map(|kept| kept.request.clone())
        }))
    }

    async fn claim_request(
        &mut self,
        id: &RequestId,
        provider: &ProviderId,
        browser: Option<&[u8; 32]>,
        now: Timestamp,
    ) -> StoreResult<ClaimedRequest> {
        Ok(self.with(|inner| {
            let Some(kept) = inner.requests.get_mut(id).filter(|kept| kept.request.provider == *provider)
            else {
                return ClaimedRequest::Unknown;
            };
            if kept.is_claimed {
                ClaimedRequest::Before
            } else if kept.request.expires_at <= now {
                ClaimedRequest::Unknown
            } else if browser != Some(&kept.request.browser) {
                ClaimedRequest::OtherBrowser
            } else {
                kept.is_claimed = true;
                ClaimedRequest::Now(kept.request.clone())
            }
        }))
    }

    async fn remember_assertion(
        &mut self,
        provider: &ProviderId,
        assertion: &[u8; 32],
        until: Timestamp,
    ) -> StoreResult<bool> {
        let key = (provider.clone(), *assertion);
        Ok(self.with(|inner| {
            let is_new = !inner.assertions.contains_key(&key);
            inner.assertions.entry(key).or_insert(until);
            is_new
        }))
    }
}

#[async_trait]
impl SubjectStore for MemoryStore {
    async fn pinned_subjects(&mut self, user: &UserId) -> StoreResult<Vec<PinnedSubject>> {
        Ok(self.with(|inner| {
            let theirs = inner.subjects.iter().filter(|((_, owner), _)| owner == user);
            theirs.map(|(_, pinned)| pinned.clone()).collect()
        }))
    }

    async fn subject_owner(
        &mut self,
        provider: &ProviderId,
        subject: &Subject,
    ) -> StoreResult<Option<UserId>> {
        Ok(self.with(|inner| inner.owner(provider, subject)))
    }

    async fn pin_subject(&mut self, user: &UserId, pinned: &PinnedSubject) -> StoreResult<bool> {
        let key = (pinned.provider.clone(), user.clone());
        Ok(self.with(|inner| {
            let is_free = !inner.subjects.contains_key(&key)
                && inner.owner(&pinned.provider, &pinned.subject).is_none();
            if is_free {
                inner.subjects.insert(key, pinned.clone());
            }
            is_free
        }))
    }

    async fn unpin_subject(&mut self, provider: &ProviderId, user: &UserId) -> StoreResult<bool> {
        let key = (provider.clone(), user.clone());
        Ok(self.with(|inner| inner.subjects.remove(&key).is_some()))
    }
}

#[async_trait]
impl ConnectionTestStore for MemoryStore {
    async fn insert_connection_test(&mut self, trial: &ConnectionTest) -> StoreResult<()> {
        self.with(|inner| inner.trials.insert(trial.id.clone(), trial.clone()));
        Ok(())
    }

    async fn connection_test(&mut self, id: &ConnectionTestId) -> StoreResult<Option<ConnectionTest>> {
        Ok(self.with(|inner| inner.trials.get(id).cloned()))
    }

    async fn report_connection_test(
        &mut self,
        id: &ConnectionTestId,
        report: &TestReport,
    ) -> StoreResult<bool> {
        Ok(self.with(|inner| {
            let waiting = inner.trials.get_mut(id).filter(|trial| trial.report.is_none());
            waiting.map(|trial| trial.report = Some(report.clone())).is_some()
        }))
    }
}

#[async_trait]
impl DomainStore for MemoryStore {
    async fn verified_domains(&mut self) -> StoreResult<Vec<VerifiedDomain>> {
        let all = self.all();
        let ours = all.domains.values().filter(|(owner, _)| *owner == self.tenant);
        Ok(ours.map(|(_, domain)| domain.clone()).collect())
    }

    async fn domain_owner(&mut self, domain: &EmailDomain) -> StoreResult<Option<TenantId>> {
        Ok(self.all().domains.get(domain).map(|(owner, _)| owner.clone()))
    }

    async fn insert_verified_domain(&mut self, domain: &VerifiedDomain) -> StoreResult<bool> {
        let mut all = self.all();
        let is_free = !all.domains.contains_key(&domain.domain);
        if is_free {
            all.domains.insert(domain.domain.clone(), (self.tenant.clone(), domain.clone()));
        }
        Ok(is_free)
    }

    async fn delete_verified_domain(&mut self, domain: &EmailDomain) -> StoreResult<bool> {
        let mut all = self.all();
        let is_ours = all.domains.get(domain).is_some_and(|(owner, _)| *owner == self.tenant);
        if is_ours {
            all.domains.remove(domain);
            all.rechecks.remove(domain);
        }
        Ok(is_ours)
    }

    async fn reschedule_domain(&mut self, domain: &EmailDomain, next: &DomainRecheck) -> StoreResult<bool> {
        let mut all = self.all();
        let Some((_, ours)) = all.domains.get_mut(domain).filter(|(owner, _)| *owner == self.tenant) else {
            return Ok(false);
        };
        ours.token.clone_from(&next.token);
        all.rechecks.insert(domain.clone(), next.clone());
        Ok(true)
    }
}
