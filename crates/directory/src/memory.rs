//! In-memory storage of people and links for tests and examples.

use async_trait::async_trait;
use kernel::{Email, StoreError, StoreResult, Timestamp, UserId};

use crate::{
    link::Link,
    own_role::{OwnRole, RoleStore},
    people::{PeopleQuery, Person},
    permission::Permissions,
    role::{HeldRoles, Role, RoleId},
    store::{LinkStore, PeopleStore},
};

/// The people, links and roles of one tenant in memory. There are no rules that give roles.
#[derive(Debug, Clone, Default)]
pub struct MemoryPeople {
    people: Vec<Person>,
    links: Vec<Link>,
    roles: Vec<OwnRole>,
}

impl MemoryPeople {
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
            .filter(|person| after.is_none_or(|after| person.id > *after) && query.matches(person, &[]))
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
        let own = self.roles.iter().find(|role| matches!(&person.role, Role::Own(id) if *id == role.id));
        let permissions = own.map_or(Permissions::NONE, |role| role.permissions);
        Ok(HeldRoles::new(person.role.clone(), Vec::new(), permissions))
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

#[async_trait]
impl RoleStore for MemoryPeople {
    async fn roles(&mut self) -> StoreResult<Vec<OwnRole>> {
        Ok(self.roles.clone())
    }

    async fn role(&mut self, id: &RoleId) -> StoreResult<Option<OwnRole>> {
        Ok(self.roles.iter().find(|role| role.id == *id).cloned())
    }

    async fn insert_role(&mut self, role: &OwnRole) -> StoreResult<bool> {
        let is_free = self.roles.iter().all(|other| other.name_key() != role.name_key());
        if is_free {
            self.roles.push(role.clone());
        }
        Ok(is_free)
    }

    async fn update_role(&mut self, role: &OwnRole) -> StoreResult<bool> {
        let is_free =
            self.roles.iter().all(|other| other.id == role.id || other.name_key() != role.name_key());
        let kept = self.roles.iter_mut().find(|kept| is_free && kept.id == role.id);
        if let Some(kept) = kept {
            kept.clone_from(role);
        }
        Ok(is_free)
    }

    async fn delete_role(&mut self, id: &RoleId) -> StoreResult<()> {
        self.roles.retain(|role| role.id != *id);
        Ok(())
    }

    // Step-ups are in another store.
    async fn revoke_grants_of_role(&mut self, _: &RoleId, _: Timestamp) -> StoreResult<()> {
        Ok(())
    }

    async fn is_role_used(&mut self, id: &RoleId) -> StoreResult<bool> {
        let is_it = |role: &Role| matches!(role, Role::Own(own) if own == id);
        Ok(self.people.iter().any(|person| is_it(&person.role)))
    }
}
