//! What the rules need of storage.

use async_trait::async_trait;
use kernel::{StoreResult, Timestamp, UserId};

use crate::{link::Link, people::Person, tenant::Tenant};

/// Where a unit of work keeps the tenant it belongs to.
#[async_trait]
pub trait TenantStore: Send {
    /// Keeps a new tenant; `false` when the slug is taken.
    async fn insert_tenant(&mut self, tenant: &Tenant) -> StoreResult<bool>;
}

/// Where one tenant's people are kept.
#[async_trait]
pub trait PeopleStore: Send {
    /// Keeps a new person; `false` when the user name or the address is taken.
    async fn insert_person(&mut self, person: &Person) -> StoreResult<bool>;
    /// The person of this id; held until the end of a unit of work that changes.
    async fn person(&mut self, id: &UserId) -> StoreResult<Option<Person>>;
    /// Who signs in with this address: see [`kernel::Email::key`].
    async fn user_of_email(&mut self, key: &str) -> StoreResult<Option<UserId>>;
    /// People by id from after `after` on.
    async fn people(&mut self, after: Option<&UserId>, limit: i64) -> StoreResult<Vec<Person>>;
    /// Writes what differs; `false` when the new address is another person's. A person who becomes inactive
    /// loses every session in the same breath.
    async fn update_person(&mut self, before: &Person, after: &Person) -> StoreResult<bool>;
    /// Takes a person away, with every session.
    async fn delete_person(&mut self, person: &Person, at: Timestamp) -> StoreResult<()>;
    /// Whether an active administrator other than this one is left. Of two who ask at once the second waits
    /// until the first is done.
    async fn another_admin(&mut self, than: &UserId) -> StoreResult<bool>;
}

/// Where one tenant's links are kept.
#[async_trait]
pub trait LinkStore: Send {
    /// Keeps a new link in the place of all that the person had.
    async fn replace_links(&mut self, link: &Link) -> StoreResult<()>;
    /// The link of this hash.
    async fn link(&mut self, hash: &[u8; 32]) -> StoreResult<Option<Link>>;
    /// Takes a link away: of several who try at once one is told `true`.
    async fn take_link(&mut self, hash: &[u8; 32]) -> StoreResult<bool>;
    /// Takes all of a person's links away.
    async fn drop_links(&mut self, user: &UserId) -> StoreResult<()>;
}
