//! In-memory storage of one tenant for tests and examples, composed of the memory stores of other crates.

mod sso;

use std::collections::BTreeMap;

use async_trait::async_trait;
use credentials::{
    Factor, FactorId, FactorKind, FactorStore, MemoryCredentials, OriginHistory, Salt, SignInMeans,
    SignInPolicy, SignInStore, Ticket, TicketStore,
};
use directory::{
    ConnectionAccounts, HeldRoles, Link, LinkStore, MemoryPeople, OwnRole, PeopleQuery, PeopleStore, Person,
    Role, RoleId, RoleStore,
};
use kernel::{StoreResult, TenantId, Timestamp, UserId};
use netpolicy::{NetworkPolicyStore, Rule, RuleId, Settings};
use saml_sp::ProviderId;
use sessions::{MemorySessions, Session, SessionId, SessionStore};
use tokens::{
    MemoryTokens, PatStore,
    pat::{Pat, PatId},
};

use crate::{AdministratorStore, provider_session::ProviderSession};

/// Implements all of [`Storage`](crate::Storage) and [`SsoStorage`](crate::sso::SsoStorage) in memory. A unit of work
/// that fails is rolled back to a clone, except for the data of SSO connections, which clones share.
#[derive(Clone)]
pub struct MemoryStore {
    people: MemoryPeople,
    credentials: MemoryCredentials,
    sessions: MemorySessions,
    network: netpolicy::MemoryStore,
    pats: MemoryTokens,
    sso: saml_sp::memory::MemoryStore,
    connection_accounts: BTreeMap<String, ConnectionAccounts>,
    /// The groups that sign-ins named, by user and connection.
    claimed_groups: BTreeMap<(UserId, String), Vec<String>>,
    at_providers: Vec<(SessionId, ProviderSession)>,
    ended_at_providers: Vec<(ProviderId, [u8; 32])>,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new(tenant: &TenantId) -> Self {
        Self {
            people: MemoryPeople::default(),
            credentials: MemoryCredentials::default(),
            sessions: MemorySessions::default(),
            network: netpolicy::MemoryStore::default(),
            pats: MemoryTokens::default(),
            sso: saml_sp::memory::MemoryStore::new(tenant),
            connection_accounts: BTreeMap::new(),
            claimed_groups: BTreeMap::new(),
            at_providers: Vec::new(),
            ended_at_providers: Vec::new(),
        }
    }
}

#[async_trait]
impl PeopleStore for MemoryStore {
    async fn insert_person(&mut self, person: &Person) -> StoreResult<bool> {
        self.people.insert_person(person).await
    }

    async fn person(&mut self, id: &UserId) -> StoreResult<Option<Person>> {
        self.people.person(id).await
    }

    async fn user_of_email(&mut self, key: &str) -> StoreResult<Option<UserId>> {
        self.people.user_of_email(key).await
    }

    async fn people(
        &mut self,
        query: &PeopleQuery,
        after: Option<&UserId>,
        limit: i64,
    ) -> StoreResult<Vec<Person>> {
        self.people.people(query, after, limit).await
    }

    async fn update_person(&mut self, before: &Person, after: &Person) -> StoreResult<bool> {
        let is_changed = self.people.update_person(before, after).await?;
        if is_changed && before.active && !after.active {
            self.sessions.revoke_sessions(&after.id, after.updated_at, None).await?;
            self.credentials.drop_tickets(&after.id).await?;
            self.people.drop_links(&after.id).await?;
        }
        Ok(is_changed)
    }

    async fn delete_person(&mut self, person: &Person, at: Timestamp) -> StoreResult<()> {
        self.people.delete_person(person, at).await
    }

    async fn held_roles(&mut self, person: &Person) -> StoreResult<HeldRoles> {
        self.people.held_roles(person).await
    }

    async fn another_admin(&mut self, than: &UserId) -> StoreResult<bool> {
        self.people.another_admin(than).await
    }
}

#[async_trait]
impl RoleStore for MemoryStore {
    async fn roles(&mut self) -> StoreResult<Vec<OwnRole>> {
        self.people.roles().await
    }

    async fn role(&mut self, id: &RoleId) -> StoreResult<Option<OwnRole>> {
        self.people.role(id).await
    }

    async fn insert_role(&mut self, role: &OwnRole) -> StoreResult<bool> {
        self.people.insert_role(role).await
    }

    async fn update_role(&mut self, role: &OwnRole) -> StoreResult<bool> {
        self.people.update_role(role).await
    }

    async fn delete_role(&mut self, id: &RoleId) -> StoreResult<()> {
        self.people.delete_role(id).await
    }

    async fn revoke_grants_of_role(&mut self, id: &RoleId, at: Timestamp) -> StoreResult<()> {
        self.people.revoke_grants_of_role(id, at).await
    }

    async fn is_role_used(&mut self, id: &RoleId) -> StoreResult<bool> {
        self.people.is_role_used(id).await
    }
}

#[async_trait]
impl LinkStore for MemoryStore {
    async fn replace_links(&mut self, link: &Link) -> StoreResult<()> {
        self.people.replace_links(link).await
    }

    async fn link(&mut self, hash: &[u8; 32]) -> StoreResult<Option<Link>> {
        self.people.link(hash).await
    }

    async fn take_link(&mut self, hash: &[u8; 32]) -> StoreResult<bool> {
        self.people.take_link(hash).await
    }

    async fn drop_links(&mut self, user: &UserId) -> StoreResult<()> {
        self.people.drop_links(user).await
    }
}

#[async_trait]
impl SignInStore for MemoryStore {
    async fn password(&mut self, user: &UserId) -> StoreResult<Option<String>> {
        self.credentials.password(user).await
    }

    async fn set_password(&mut self, user: &UserId, hash: &str, at: Timestamp) -> StoreResult<()> {
        self.credentials.set_password(user, hash, at).await
    }

    async fn renew_password_hash(&mut self, user: &UserId, hash: &str) -> StoreResult<()> {
        self.credentials.renew_password_hash(user, hash).await
    }

    async fn password_salt(&mut self, email_key: &str, new: Salt) -> StoreResult<Salt> {
        self.credentials.password_salt(email_key, new).await
    }

    async fn knows_origin(&mut self, user: &UserId, origin: &str) -> StoreResult<bool> {
        self.credentials.knows_origin(user, origin).await
    }

    async fn note_origin(
        &mut self,
        user: &UserId,
        origin: &str,
        at: Timestamp,
    ) -> StoreResult<OriginHistory> {
        self.credentials.note_origin(user, origin, at).await
    }

    async fn consume_challenge(&mut self, hash: &[u8; 32], until: Timestamp) -> StoreResult<bool> {
        self.credentials.consume_challenge(hash, until).await
    }

    async fn sign_in_policy(&mut self) -> StoreResult<SignInPolicy> {
        self.credentials.sign_in_policy().await
    }

    async fn sign_in_policy_to_change(&mut self) -> StoreResult<SignInPolicy> {
        self.credentials.sign_in_policy_to_change().await
    }

    async fn set_sign_in_policy(&mut self, policy: &SignInPolicy) -> StoreResult<()> {
        self.credentials.set_sign_in_policy(policy).await
    }

    async fn delete_password(&mut self, user: &UserId) -> StoreResult<bool> {
        self.credentials.delete_password(user).await
    }

    async fn notices(&mut self, user: &UserId) -> StoreResult<Vec<String>> {
        self.credentials.notices(user).await
    }

    async fn consume_notice(&mut self, user: &UserId) -> StoreResult<Option<String>> {
        self.credentials.consume_notice(user).await
    }

    async fn add_notice(&mut self, user: &UserId, notice: &str) -> StoreResult<()> {
        self.credentials.add_notice(user, notice).await
    }
}

#[async_trait]
impl TicketStore for MemoryStore {
    async fn insert_ticket(&mut self, ticket: &Ticket) -> StoreResult<()> {
        self.credentials.insert_ticket(ticket).await
    }

    async fn ticket(&mut self, hash: &[u8; 32]) -> StoreResult<Option<Ticket>> {
        self.credentials.ticket(hash).await
    }

    async fn take_ticket(&mut self, hash: &[u8; 32]) -> StoreResult<bool> {
        self.credentials.take_ticket(hash).await
    }

    async fn update_ticket(&mut self, ticket: &Ticket) -> StoreResult<()> {
        self.credentials.update_ticket(ticket).await
    }

    async fn drop_tickets(&mut self, user: &UserId) -> StoreResult<()> {
        self.credentials.drop_tickets(user).await
    }
}

#[async_trait]
impl FactorStore for MemoryStore {
    async fn factors(&mut self, user: &UserId) -> StoreResult<Vec<Factor>> {
        self.credentials.factors(user).await
    }

    async fn factor_of_credential(&mut self, credential: &[u8]) -> StoreResult<Option<Factor>> {
        self.credentials.factor_of_credential(credential).await
    }

    async fn insert_factor(&mut self, factor: &Factor) -> StoreResult<bool> {
        self.credentials.insert_factor(factor).await
    }

    async fn update_factor(&mut self, factor: &Factor) -> StoreResult<()> {
        self.credentials.update_factor(factor).await
    }

    async fn use_step(&mut self, factor: &Factor, step: i64, at: Timestamp) -> StoreResult<bool> {
        self.credentials.use_step(factor, step, at).await
    }

    async fn record_use(&mut self, factor: &Factor) -> StoreResult<()> {
        self.credentials.record_use(factor).await
    }

    async fn drop_pending(&mut self, user: &UserId) -> StoreResult<()> {
        self.credentials.drop_pending(user).await
    }

    async fn delete_factor(&mut self, user: &UserId, id: &FactorId) -> StoreResult<bool> {
        self.credentials.delete_factor(user, id).await
    }

    async fn unused_codes(&mut self, user: &UserId) -> StoreResult<usize> {
        self.credentials.unused_codes(user).await
    }

    async fn replace_codes(&mut self, user: &UserId, hashes: &[[u8; 32]]) -> StoreResult<()> {
        self.credentials.replace_codes(user, hashes).await
    }

    async fn use_code(&mut self, user: &UserId, hash: &[u8; 32], at: Timestamp) -> StoreResult<bool> {
        self.credentials.use_code(user, hash, at).await
    }

    async fn wrong_codes(&mut self, user: &UserId) -> StoreResult<i64> {
        self.credentials.wrong_codes(user).await
    }

    async fn count_wrong_code(&mut self, user: &UserId) -> StoreResult<()> {
        self.credentials.count_wrong_code(user).await
    }

    async fn clear_wrong_codes(&mut self, user: &UserId) -> StoreResult<()> {
        self.credentials.clear_wrong_codes(user).await
    }
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn insert_session(&mut self, session: &Session) -> StoreResult<bool> {
        self.sessions.insert_session(session).await
    }

    async fn session(&mut self, id: &SessionId) -> StoreResult<Option<Session>> {
        self.sessions.session(id).await
    }

    async fn sessions_of(&mut self, user: &UserId) -> StoreResult<Vec<Session>> {
        self.sessions.sessions_of(user).await
    }

    async fn update_session(&mut self, session: &Session) -> StoreResult<()> {
        self.sessions.update_session(session).await
    }

    async fn rename_session(&mut self, id: &SessionId, new: &SessionId, at: Timestamp) -> StoreResult<()> {
        for (session, _) in self.at_providers.iter_mut().filter(|(session, _)| session == id) {
            session.clone_from(new);
        }
        self.sessions.rename_session(id, new, at).await
    }

    async fn revoke_session(&mut self, id: &SessionId, at: Timestamp) -> StoreResult<bool> {
        self.sessions.revoke_session(id, at).await
    }

    async fn refused_until(&mut self, user: &UserId) -> StoreResult<Option<Timestamp>> {
        self.sessions.refused_until(user).await
    }

    async fn refuse_tokens_until(&mut self, user: &UserId, until: Timestamp) -> StoreResult<()> {
        self.sessions.refuse_tokens_until(user, until).await
    }

    async fn revoke_sessions(
        &mut self,
        user: &UserId,
        at: Timestamp,
        except: Option<&SessionId>,
    ) -> StoreResult<u64> {
        // As in both databases, disabling a user ends pending sign-ins and enrolments.
        self.credentials.drop_tickets(user).await?;
        self.credentials.drop_pending(user).await?;
        self.sessions.revoke_sessions(user, at, except).await
    }
}

#[async_trait]
impl NetworkPolicyStore for MemoryStore {
    async fn network_settings(&mut self) -> StoreResult<Settings> {
        self.network.network_settings().await
    }

    async fn network_settings_to_change(&mut self) -> StoreResult<Settings> {
        self.network.network_settings_to_change().await
    }

    async fn set_network_settings(&mut self, settings: &Settings) -> StoreResult<()> {
        self.network.set_network_settings(settings).await
    }

    async fn network_policy(&mut self) -> StoreResult<(Settings, Vec<Rule>)> {
        self.network.network_policy().await
    }

    async fn network_rules(&mut self) -> StoreResult<Vec<Rule>> {
        self.network.network_rules().await
    }

    async fn network_rule(&mut self, id: &RuleId) -> StoreResult<Option<Rule>> {
        self.network.network_rule(id).await
    }

    async fn count_network_rules(&mut self) -> StoreResult<usize> {
        self.network.count_network_rules().await
    }

    async fn insert_network_rule(&mut self, rule: &Rule) -> StoreResult<bool> {
        self.network.insert_network_rule(rule).await
    }

    async fn rename_network_rule(&mut self, rule: &Rule) -> StoreResult<()> {
        self.network.rename_network_rule(rule).await
    }

    async fn delete_network_rule(&mut self, id: &RuleId) -> StoreResult<()> {
        self.network.delete_network_rule(id).await
    }
}

#[async_trait]
impl PatStore for MemoryStore {
    async fn insert_pat(&mut self, token: &Pat) -> StoreResult<()> {
        self.pats.insert_pat(token).await
    }

    async fn pats_of(&mut self, user: &UserId) -> StoreResult<Vec<Pat>> {
        self.pats.pats_of(user).await
    }

    async fn pat(&mut self, id: &PatId) -> StoreResult<Option<Pat>> {
        self.pats.pat(id).await
    }

    async fn revoke_pat(&mut self, id: &PatId, at: Timestamp) -> StoreResult<bool> {
        self.pats.revoke_pat(id, at).await
    }
}

#[async_trait]
impl AdministratorStore for MemoryStore {
    async fn administrators_means(
        &mut self,
        _: &SignInPolicy,
        except: Option<&UserId>,
        _: Timestamp,
    ) -> StoreResult<Vec<SignInMeans>> {
        let mut means = Vec::new();
        let people = self.people.people(&PeopleQuery::default(), None, i64::MAX).await?;
        let counts =
            |person: &&Person| person.active && person.role == Role::Admin && Some(&person.id) != except;
        for person in people.iter().filter(counts) {
            let has_password = self.credentials.password(&person.id).await?.is_some();
            let factors = self.credentials.factors(&person.id).await?;
            let is_passkey =
                |factor: &Factor| factor.verified_at.is_some() && factor.kind() == FactorKind::Webauthn;
            means.push(SignInMeans {
                has_password: has_password && person.email.is_some(),
                has_passkey: factors.iter().any(is_passkey),
                break_glass: person.break_glass,
                has_sso: false,
            });
        }
        Ok(means)
    }

    async fn allows_any_model(&mut self) -> StoreResult<bool> {
        Ok(true)
    }
}
