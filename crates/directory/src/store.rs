//! The storage that the rules need.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{
    link::Link,
    people::{PeopleQuery, Person},
    role::HeldRoles,
    tenant::Tenant,
};

/// Stores the tenant of a unit of work.
#[async_trait]
pub trait TenantStore: Send {
    /// Inserts a tenant. Returns `false` if the slug is taken.
    async fn insert_tenant(&mut self, tenant: &Tenant) -> StoreResult<bool>;
    /// Returns the tenant.
    async fn own_tenant(&mut self) -> StoreResult<Option<Tenant>>;
    /// Sets the tenant's name.
    async fn rename_tenant(&mut self, name: &str) -> StoreResult<()>;
}

/// Stores one tenant's people.
#[async_trait]
pub trait PeopleStore: Send {
    /// Inserts a person. Returns `false` if the user name or address is taken.
    async fn insert_person(&mut self, person: &Person) -> StoreResult<bool>;
    /// Returns the person with this id. Locks the row in a unit of work that writes.
    async fn person(&mut self, id: &UserId) -> StoreResult<Option<Person>>;
    /// Returns the person with this sign-in address: see [`kernel::Email::key`].
    async fn user_of_email(&mut self, key: &str) -> StoreResult<Option<UserId>>;
    /// Returns matching people ordered by id, starting after `after`.
    async fn people(
        &mut self,
        query: &PeopleQuery,
        after: Option<&UserId>,
        limit: i64,
    ) -> StoreResult<Vec<Person>>;
    /// Updates the fields that differ. Returns `false` if another person has the new address. Revokes all sessions of
    /// a person who becomes inactive, in the same transaction.
    async fn update_person(&mut self, before: &Person, after: &Person) -> StoreResult<bool>;
    /// Deletes a person and all of their sessions.
    async fn delete_person(&mut self, person: &Person, at: Timestamp) -> StoreResult<()>;
    /// Returns the roles of a person, and the permissions that they add up to.
    async fn held_roles(&mut self, person: &Person) -> StoreResult<HeldRoles>;
    /// Whether another active person has the assigned role ADMIN; a role by a rule does not count. Concurrent calls
    /// run one after the other.
    async fn another_admin(&mut self, than: &UserId) -> StoreResult<bool>;
}

/// Stores one tenant's links.
#[async_trait]
pub trait LinkStore: Send {
    /// Inserts a link and deletes the person's other links.
    async fn replace_links(&mut self, link: &Link) -> StoreResult<()>;
    /// Returns the link with this hash.
    async fn link(&mut self, hash: &[u8; 32]) -> StoreResult<Option<Link>>;
    /// Deletes a link. Of concurrent calls, one returns `true`.
    async fn take_link(&mut self, hash: &[u8; 32]) -> StoreResult<bool>;
    /// Deletes all of a person's links.
    async fn drop_links(&mut self, user: &UserId) -> StoreResult<()>;
}
