//! SSO connections in memory.

use async_trait::async_trait;
use directory::{ConnectionAccountStore, ConnectionAccounts, GroupsChanged, RoleRule};
use kernel::{StoreResult, TenantId, Timestamp, UserId};
use saml_sp::{
    ClaimedRequest, ConnectionTest, ConnectionTestId, ConnectionTestStore, DomainRecheck, DomainStore,
    EmailDomain, PinnedSubject, Provider, ProviderId, ProviderStore, Request, RequestId, RequestStore,
    Subject, SubjectStore, TestReport, VerifiedDomain,
};
use sessions::{Session, SessionId, SessionStore};

use super::MemoryStore;
use crate::provider_session::{EndedAtProvider, ProviderSession, ProviderSessionStore};

#[async_trait]
impl ProviderStore for MemoryStore {
    async fn providers(&mut self) -> StoreResult<Vec<Provider>> {
        self.sso.providers().await
    }

    async fn provider(&mut self, id: &ProviderId) -> StoreResult<Option<Provider>> {
        self.sso.provider(id).await
    }

    async fn count_providers(&mut self) -> StoreResult<usize> {
        self.sso.count_providers().await
    }

    async fn provider_of_domain(&mut self, domain: &EmailDomain) -> StoreResult<Option<ProviderId>> {
        self.sso.provider_of_domain(domain).await
    }

    async fn domains_of_providers(&mut self) -> StoreResult<Vec<(EmailDomain, ProviderId)>> {
        self.sso.domains_of_providers().await
    }

    async fn insert_provider(&mut self, provider: &Provider) -> StoreResult<()> {
        self.sso.insert_provider(provider).await
    }

    async fn update_provider(&mut self, provider: &Provider) -> StoreResult<()> {
        self.sso.update_provider(provider).await
    }

    async fn delete_provider(&mut self, id: &ProviderId) -> StoreResult<bool> {
        self.sso.delete_provider(id).await
    }
}

#[async_trait]
impl DomainStore for MemoryStore {
    async fn verified_domains(&mut self) -> StoreResult<Vec<VerifiedDomain>> {
        self.sso.verified_domains().await
    }

    async fn domain_owner(&mut self, domain: &EmailDomain) -> StoreResult<Option<TenantId>> {
        self.sso.domain_owner(domain).await
    }

    async fn insert_verified_domain(&mut self, domain: &VerifiedDomain) -> StoreResult<bool> {
        self.sso.insert_verified_domain(domain).await
    }

    async fn delete_verified_domain(&mut self, domain: &EmailDomain) -> StoreResult<bool> {
        self.sso.delete_verified_domain(domain).await
    }

    async fn reschedule_domain(&mut self, domain: &EmailDomain, next: &DomainRecheck) -> StoreResult<bool> {
        self.sso.reschedule_domain(domain, next).await
    }
}

#[async_trait]
impl SubjectStore for MemoryStore {
    async fn pinned_subjects(&mut self, user: &UserId) -> StoreResult<Vec<PinnedSubject>> {
        self.sso.pinned_subjects(user).await
    }

    async fn subject_owner(
        &mut self,
        provider: &ProviderId,
        subject: &Subject,
    ) -> StoreResult<Option<UserId>> {
        self.sso.subject_owner(provider, subject).await
    }

    async fn pin_subject(&mut self, user: &UserId, pinned: &PinnedSubject) -> StoreResult<bool> {
        self.sso.pin_subject(user, pinned).await
    }

    async fn unpin_subject(&mut self, provider: &ProviderId, user: &UserId) -> StoreResult<bool> {
        self.sso.unpin_subject(provider, user).await
    }
}

#[async_trait]
impl RequestStore for MemoryStore {
    async fn insert_request(&mut self, request: &Request) -> StoreResult<()> {
        self.sso.insert_request(request).await
    }

    async fn request(&mut self, id: &RequestId) -> StoreResult<Option<Request>> {
        self.sso.request(id).await
    }

    async fn claim_request(
        &mut self,
        id: &RequestId,
        provider: &ProviderId,
        browser: Option<&[u8; 32]>,
        now: Timestamp,
    ) -> StoreResult<ClaimedRequest> {
        self.sso.claim_request(id, provider, browser, now).await
    }

    async fn remember_assertion(
        &mut self,
        provider: &ProviderId,
        assertion: &[u8; 32],
        until: Timestamp,
    ) -> StoreResult<bool> {
        self.sso.remember_assertion(provider, assertion, until).await
    }
}

#[async_trait]
impl ConnectionTestStore for MemoryStore {
    async fn insert_connection_test(&mut self, test: &ConnectionTest) -> StoreResult<()> {
        self.sso.insert_connection_test(test).await
    }

    async fn connection_test(&mut self, id: &ConnectionTestId) -> StoreResult<Option<ConnectionTest>> {
        self.sso.connection_test(id).await
    }

    async fn report_connection_test(
        &mut self,
        id: &ConnectionTestId,
        report: &TestReport,
    ) -> StoreResult<bool> {
        self.sso.report_connection_test(id, report).await
    }
}

#[async_trait]
impl ProviderSessionStore for MemoryStore {
    async fn set_provider_session(&mut self, id: &SessionId, at: &ProviderSession) -> StoreResult<()> {
        self.at_providers.push((id.clone(), at.clone()));
        Ok(())
    }

    async fn provider_session(&mut self, id: &SessionId) -> StoreResult<Option<ProviderSession>> {
        let found = self.at_providers.iter().rfind(|(session, _)| session == id);
        Ok(found.map(|(_, at)| at.clone()))
    }

    async fn users_at_provider(
        &mut self,
        provider: &ProviderId,
        ended: &EndedAtProvider,
    ) -> StoreResult<Vec<UserId>> {
        let mut users: Vec<_> =
            self.at_provider(provider, ended).await?.into_iter().map(|session| session.user).collect();
        users.sort();
        users.dedup();
        Ok(users)
    }

    async fn revoke_at_provider(
        &mut self,
        provider: &ProviderId,
        ended: &EndedAtProvider,
        since: Timestamp,
        at: Timestamp,
    ) -> StoreResult<Vec<(SessionId, UserId)>> {
        let mut revoked = Vec::new();
        for session in self.at_provider(provider, ended).await? {
            if session.created_at > since && self.sessions.revoke_session(&session.id, at).await? {
                revoked.push((session.id, session.user));
            }
        }
        Ok(revoked)
    }

    async fn remember_ended(
        &mut self,
        provider: &ProviderId,
        session: &[u8; 32],
        _until: Timestamp,
    ) -> StoreResult<()> {
        self.ended_at_providers.push((provider.clone(), *session));
        Ok(())
    }

    async fn has_ended(&mut self, provider: &ProviderId, session: &[u8; 32]) -> StoreResult<bool> {
        Ok(self.ended_at_providers.iter().any(|(of, ended)| of == provider && ended == session))
    }
}

impl MemoryStore {
    /// Returns the sessions that a provider ends and that are not revoked.
    async fn at_provider(
        &mut self,
        provider: &ProviderId,
        ended: &EndedAtProvider,
    ) -> StoreResult<Vec<Session>> {
        let is_ended = |at: &ProviderSession| match ended {
            EndedAtProvider::Session { session, subject } => {
                at.session == Some(*session) && subject.is_none_or(|subject| subject == at.subject)
            }
            EndedAtProvider::Subject(subject) => at.subject == *subject,
        };
        let mut found = Vec::new();
        for (id, at) in &self.at_providers {
            if at.provider == *provider
                && is_ended(at)
                && let Some(session) = self.sessions.session(id).await?
                && session.revoked_at.is_none()
            {
                found.push(session);
            }
        }
        Ok(found)
    }
}

#[async_trait]
impl ConnectionAccountStore for MemoryStore {
    async fn connection_accounts(&mut self, provider: &str) -> StoreResult<ConnectionAccounts> {
        Ok(self.connection_accounts.get(provider).cloned().unwrap_or_default())
    }

    async fn set_connection_accounts(
        &mut self,
        provider: &str,
        accounts: &ConnectionAccounts,
    ) -> StoreResult<()> {
        self.connection_accounts.insert(provider.to_owned(), accounts.clone());
        Ok(())
    }

    // There are no rules and no step-ups in memory.
    async fn rules_of_connection(&mut self, _: &str) -> StoreResult<Vec<RoleRule>> {
        Ok(Vec::new())
    }

    async fn revoke_step_ups(&mut self, _: &UserId, _: Timestamp) -> StoreResult<()> {
        Ok(())
    }

    async fn drop_claimed_groups(
        &mut self,
        provider: &str,
        _: Timestamp,
    ) -> StoreResult<Vec<(RoleRule, u64)>> {
        self.claimed_groups.retain(|(_, of), _| of != provider);
        Ok(Vec::new())
    }

    async fn replace_claimed_groups(
        &mut self,
        user: &UserId,
        provider: &str,
        groups: &[String],
    ) -> StoreResult<GroupsChanged> {
        let before = self.claimed_groups.insert((user.clone(), provider.to_owned()), groups.to_vec());
        let before = before.unwrap_or_default();
        let beyond = |one: &[String], other: &[String]| {
            one.iter().filter(|group| !other.contains(group)).cloned().collect()
        };
        Ok(GroupsChanged { joined: beyond(groups, &before), left: beyond(&before, groups) })
    }
}
