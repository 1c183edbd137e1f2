//! Users in memory: for examples, tests and services that keep them elsewhere.

use std::collections::BTreeMap;

use async_trait::async_trait;
use kernel::{StoreError, UserId};

use crate::{Found, Lookup, Page, User, UserStore};

/// One tenant's users in a map, oldest first because ids sort by time.
#[derive(Debug, Default)]
pub struct MemoryStore {
    users: BTreeMap<UserId, User>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn other(&self, user: &User, same: impl Fn(&User) -> bool) -> bool {
        self.users.values().any(|other| other.id != user.id && same(other))
    }

    fn taken(&self, user: &User) -> bool {
        let key = |user: &User| user.sign_in_email().map(|email| email.key());
        let (name, email) = (user.user_name_key(), key(user));
        self.other(user, |other| other.user_name_key() == name)
            || (email.is_some() && self.other(user, |other| key(other) == email))
    }
}

#[async_trait]
impl UserStore for MemoryStore {
    async fn user(&mut self, id: &UserId) -> Result<Option<User>, StoreError> {
        Ok(self.users.get(id).cloned())
    }

    async fn user_for_update(&mut self, id: &UserId) -> Result<Option<User>, StoreError> {
        self.user(id).await
    }

    async fn user_of_name(&mut self, key: &str) -> Result<Option<User>, StoreError> {
        Ok(self.users.values().find(|user| user.user_name_key() == key).cloned())
    }

    async fn user_of_sign_in_email(&mut self, key: &str) -> Result<Option<UserId>, StoreError> {
        let has = |user: &&User| user.sign_in_email().is_some_and(|email| email.key() == key);
        Ok(self.users.values().find(has).map(|user| user.id.clone()))
    }

    async fn find_users(&mut self, lookup: Option<&Lookup>, page: Page) -> Result<Found, StoreError> {
        let matching: Vec<_> =
            self.users.values().filter(|user| lookup.is_none_or(|lookup| lookup.matches(user))).collect();
        let offset = usize::try_from(page.offset()).unwrap_or(usize::MAX);
        Ok(Found {
            total: matching.len() as u64,
            users: matching.into_iter().skip(offset).take(page.count as usize).cloned().collect(),
        })
    }

    async fn insert_user(&mut self, user: &User) -> Result<bool, StoreError> {
        let free = !self.taken(user);
        if free {
            self.users.insert(user.id.clone(), user.clone());
        }
        Ok(free)
    }

    async fn update_user(&mut self, user: &User) -> Result<(), StoreError> {
        if self.taken(user) {
            return Err(StoreError::Taken("userName or sign-in address".into()));
        }
        self.users.insert(user.id.clone(), user.clone());
        Ok(())
    }
}
