//! What the rules need of storage.

use async_trait::async_trait;
use kernel::{StoreError, UserId};

use crate::{Found, Lookup, Page, User};

/// One tenant's users. There is no tenant argument, so none can be wrong.
#[async_trait]
pub trait UserStore: Send {
    /// The user of this id.
    async fn user(&mut self, id: &UserId) -> Result<Option<User>, StoreError>;
    /// The same, held against other writers until the unit of work ends.
    async fn user_for_update(&mut self, id: &UserId) -> Result<Option<User>, StoreError>;
    /// The user whose name has this key ([`User::user_name_key`]).
    async fn user_of_name(&mut self, key: &str) -> Result<Option<User>, StoreError>;
    /// The id of the user whose sign-in address has this key ([`kernel::Email::key`]).
    async fn user_of_sign_in_email(&mut self, key: &str) -> Result<Option<UserId>, StoreError>;
    /// A page of those that match, oldest first, and their number.
    async fn find_users(&mut self, lookup: Option<&Lookup>, page: Page) -> Result<Found, StoreError>;
    /// Keeps a new user; `false`, and nothing kept, when its name or sign-in address is taken.
    async fn insert_user(&mut self, user: &User) -> Result<bool, StoreError>;
    /// Keeps a changed user. A name or address that is taken by then is [`StoreError::Taken`].
    async fn update_user(&mut self, user: &User) -> Result<(), StoreError>;
}
