//! In-memory storage of a tenant, its people, links and roles for tests and examples.

mod roles;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use kernel::{Email, GroupId, StoreError, StoreResult, Timestamp, UserId};

use crate::{
    connection_accounts::ConnectionAccounts,
    link::Link,
    own_role::OwnRole,
    people::{PeopleQuery, Person},
    role::{HeldRoles, Role},
    role_rule::RoleRule,
    store::{LinkStore, PeopleStore, TenantStore},
    tenant::Tenant,
};

/// One tenant in memory: its people, links, roles, and the rules that give roles. Step-up tokens are kept elsewhere, so
/// nothing here revokes them.
#[derive(Debug, Clone, Default)]
pub struct MemoryPeople {
    tenant: Option<Tenant>,
    people: Vec<Person>,
    links: Vec<Link>,
    roles: Vec<OwnRole>,
    rules: Vec<RoleRule>,
    groups: BTreeMap<GroupId, BTreeSet<UserId>>,
    connections: BTreeMap<String, ConnectionAccounts>,
    /// User, connection and group.
    claimed: BTreeSet<(UserId, String, String)>,
}

impl MemoryPeople {
    /// Sets the members of a group, which rules may then name.
    pub fn set_group(&mut self, group: GroupId, members: impl IntoIterator<Item = UserId>) {
        self.groups.insert(group, members.into_iter().collect());
    }

    /// Whether another person has this user name or address.
    fn is_taken(&self, person: &Person) -> bool {
        let key = |person: &Person| person.email.as_ref().map(Email::key);
        let clashes = |other: &Person| {
            other.id != person.id
                && (other.user_name.eq_ignore_ascii_case(&person.user_name)
                    || (key(other).is_some() && key(other) == key(person)))
        };
        self.people.iter().any(clashes)
    }
}

#[async_trait]
impl TenantStore for MemoryPeople {
    async fn insert_tenant(&mut self, tenant: &Tenant) -> StoreResult<bool> {
        let is_free = self.tenant.is_none();
        if is_free {
            self.tenant = Some(tenant.clone());
        }
        Ok(is_free)
    }

    async fn own_tenant(&mut self) -> StoreResult<Option<Tenant>> {
        Ok(self.tenant.clone())
    }

    async fn rename_tenant(&mut self, name: &str) -> StoreResult<()> {
        if let Some(tenant) = &mut self.tenant {
            name.clone_into(&mut tenant.name);
        }
        Ok(())
    }
}

#[async_trait]
impl PeopleStore for MemoryPeople {
    async fn insert_person(&mut self, person: &Person) -> StoreResult<bool> {
        let is_free = !self.is_taken(person);
        if is_free {
            self.people.push(person.clone());
        }
        Ok(is_free)
    }

    async fn person(&mut self, id: &UserId) -> StoreResult<Option<Person>> {
        Ok(self.people.iter().find(|person| person.id == *id).cloned())
    }

    async fn user_of_email(&mut self, key: &str) -> StoreResult<Option<UserId>> {
        let has_it = |person: &&Person| person.email.as_ref().is_some_and(|email| email.key() == key);
        Ok(self.people.iter().find(has_it).map(|person| person.id.clone()))
    }

    async fn people(
        &mut self,
        query: &PeopleQuery,
        after: Option<&UserId>,
        limit: i64,
    ) -> StoreResult<Vec<Person>> {
        let mut people: Vec<_> = self
            .people
            .iter()
            .filter(|person| {
                after.is_none_or(|after| person.id > *after) && query.matches(person, &self.groups_of(person))
            })
            .cloned()
            .collect();
        people.sort_by(|one, other| one.id.cmp(&other.id));
        people.truncate(usize::try_from(limit).unwrap_or_default());
        Ok(people)
    }

    async fn update_person(&mut self, before: &Person, after: &Person) -> StoreResult<bool> {
        if self.is_taken(after) {
            return Ok(false);
        }
        let kept = self.people.iter_mut().find(|person| person.id == before.id);
        let kept = kept.ok_or(StoreError::Aborted("the tenant has no user with this ID"))?;
        kept.clone_from(after);
        Ok(true)
    }

    async fn delete_person(&mut self, person: &Person, _: Timestamp) -> StoreResult<()> {
        self.people.retain(|kept| kept.id != person.id);
        self.drop_links(&person.id).await
    }

    async fn held_roles(&mut self, person: &Person) -> StoreResult<HeldRoles> {
        Ok(self.roles_of(person, None))
    }

    async fn another_admin(&mut self, than: &UserId) -> StoreResult<bool> {
        let counts = |person: &Person| person.role == Role::Admin && person.active && person.id != *than;
        Ok(self.people.iter().any(counts))
    }
}

#[async_trait]
impl LinkStore for MemoryPeople {
    async fn replace_links(&mut self, link: &Link) -> StoreResult<()> {
        self.drop_links(&link.user).await?;
        self.links.push(link.clone());
        Ok(())
    }

    async fn link(&mut self, hash: &[u8; 32]) -> StoreResult<Option<Link>> {
        Ok(self.links.iter().find(|link| link.hash == *hash).cloned())
    }

    async fn take_link(&mut self, hash: &[u8; 32]) -> StoreResult<bool> {
        let before = self.links.len();
        self.links.retain(|link| link.hash != *hash);
        Ok(self.links.len() < before)
    }

    async fn drop_links(&mut self, user: &UserId) -> StoreResult<()> {
        self.links.retain(|link| link.user != *user);
        Ok(())
    }
}
